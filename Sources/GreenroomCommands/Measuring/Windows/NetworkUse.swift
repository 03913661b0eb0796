import AppFolders
import Glibc
import GreenroomLinux

/// The internet sockets that processes have (proc(5), /proc/PID/net).
enum NetworkUse {
    /// A held program may have its connections in a process that it has started.
    static func ofInstance(_ process: Int32) -> [String] {
        Set(processes(with: process).flatMap(of)).sorted()
    }

    private static let processLimit = 1000

    /// The processes of its cgroup and below; without a cgroup of its own, the process and its
    /// descendants.
    static func processes(with process: Int32) -> Set<Int32> {
        var found: Set<Int32> = [process]
        if let group = cgroup(of: "\(process)"), let own = cgroup(of: "self"),
            // A cgroup that contains this process contains others as well.
            group != "/", !(own + "/").hasPrefix(group + "/"),
            let mounts = try? SmallFile.text(of: "/proc/self/mountinfo"),
            let mount = try? CgroupLocation.mountPoint(mountinfo: mounts)
        {
            collect(mount + group, depth: 0, &found)
            return found
        }
        var next = [process]
        while let parent = next.popLast(), found.count < processLimit {
            let tasks = "/proc/\(parent)/task"
            for task in (try? FolderContents.names(in: tasks)) ?? [] {
                let text = (try? SmallFile.text(of: "\(tasks)/\(task)/children")) ?? ""
                for child in text.split(whereSeparator: \.isWhitespace).compactMap({ Int32($0) })
                where found.insert(child).inserted { next.append(child) }
            }
        }
        return found
    }

    private static func collect(_ folder: String, depth: Int, _ found: inout Set<Int32>) {
        let text = (try? SmallFile.text(of: folder + "/cgroup.procs")) ?? ""
        found.formUnion(text.split(separator: "\n").compactMap { Int32($0) })
        guard depth < 8, found.count < processLimit else { return }
        for name in (try? FolderContents.names(in: folder)) ?? []
        where name != "." && name != ".." && FileStatus(path: "\(folder)/\(name)")?.kind == .folder
        {
            collect("\(folder)/\(name)", depth: depth + 1, &found)
        }
    }

    private static func cgroup(of process: String) -> String? {
        let text = (try? SmallFile.text(of: "/proc/\(process)/cgroup")) ?? ""
        return CgroupLocation.path(in: text)
    }

    static func of(_ process: Int32) -> [String] {
        let folder = "/proc/\(process)"
        let inodes = Set(
            ((try? FolderContents.names(in: folder + "/fd")) ?? []).compactMap { name -> String? in
                guard let target = AppFolderChange.target(of: "\(folder)/fd/\(name)"),
                    target.hasPrefix("socket:[")
                else { return nil }
                return String(target.dropFirst(8).dropLast())
            })
        var found: Set<String> = []
        for kind in ["tcp", "tcp6", "udp", "udp6"] {
            let text = (try? SmallFile.text(of: "\(folder)/net/\(kind)")) ?? ""
            for line in text.split(separator: "\n").dropFirst() {
                let words = line.split(separator: " ")
                if words.count > 9, inodes.contains(String(words[9])) {
                    found.insert("\(kind.prefix(3)) \(address(words[2]))")
                }
            }
        }
        return found.sorted()
    }

    /// The address and the port, as people write them. The kernel prints an address as numbers of four
    /// bytes in the byte order of the machine.
    static func address(_ text: Substring) -> String {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16) else { return String(text) }
        var bytes: [UInt8] = []
        var digits = parts[0]
        while let word = UInt32(digits.prefix(8), radix: 16) {
            unsafe withUnsafeBytes(of: word) { unsafe bytes.append(contentsOf: $0) }
            digits = digits.dropFirst(8)
        }
        guard bytes.count == 4 || bytes.count == 16 else { return String(text) }
        var name = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &name, socklen_t(name.count)) != nil else {
            return String(text)
        }
        let host = String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return bytes.count == 4 ? "\(host):\(port)" : "[\(host)]:\(port)"
    }
}
