internal import Glibc

/// Where the cgroup v2 hierarchy is mounted, and which cgroup this process is in (cgroups(7)).
public enum CgroupLocation {
    /// The mount point of cgroup2, from /proc/self/mountinfo; nil if it is not mounted. On a hybrid
    /// host that is usually /sys/fs/cgroup/unified, not /sys/fs/cgroup.
    public static func mountPoint(
        mountinfo: @autoclosure () throws(SystemError) -> String
    ) throws(SystemError) -> String? {
        for line in try mountinfo().split(separator: "\n") {
            // "31 23 0:28 ROOT MOUNTPOINT OPTIONS [tags] - TYPE SOURCE OPTIONS"
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash >= 6, dash + 1 < fields.count,
                fields[dash + 1] == "cgroup2"
            else { continue }
            return unescaped(fields[4])
        }
        return nil
    }

    /// The cgroup v2 path in the text of /proc/PID/cgroup ("0::/path"); it begins with a slash.
    public static func path(in text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("0::") {
            return String(line.dropFirst(3))
        }
        return nil
    }

    /// The directory of the cgroup that this process is in; nil without cgroup v2.
    public static func own() throws(SystemError) -> String? {
        guard let mount = try mountPoint(mountinfo: try SmallFile.text(of: "/proc/self/mountinfo")),
            let path = path(in: try SmallFile.text(of: "/proc/self/cgroup"))
        else { return nil }
        return path == "/" ? mount : mount + path
    }

    /// mountinfo writes blanks, tabs, line feeds and backslashes as three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
