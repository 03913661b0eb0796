import Glibc

/// Counts of objects that the kernel keeps for a process: equal counts before and after mean no
/// leak. A test that uses this first shows that the counter sees a leak.
public enum KernelObjects {
    /// Open descriptors of a process, by default of this one.
    public static func descriptorCount(of pid: Int32? = nil) -> Int {
        entryNames("/proc/\(pid.map(String.init) ?? "self")/fd").count
    }

    /// The lowest of several counts. A process that works has more descriptors for moments.
    public static func lowestDescriptorCount(of pid: Int32) -> Int {
        (0..<100).reduce(Int.max) { lowest, _ in
            poll(nil, 0, 1)
            return min(lowest, descriptorCount(of: pid))
        }
    }

    /// What a process has open (proc_pid_fd(5)).
    public static func openFiles(of pid: Int32) -> [String] {
        entryNames("/proc/\(pid)/fd").compactMap { name in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = buffer.withUnsafeMutableBytes {
                readlink("/proc/\(pid)/fd/\(name)", $0.baseAddress!, $0.count)
            }
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    /// How many of a process's pidfds refer to processes that have ended and been reaped
    /// (proc_pid_fdinfo(5)).
    public static func endedPidfdCount(of pid: Int32) -> Int {
        entryNames("/proc/\(pid)/fdinfo").count { name in
            let text = (try? readFile("/proc/\(pid)/fdinfo/\(name)")) ?? []
            return String(decoding: text, as: UTF8.self).contains("\nPid:\t-1\n")
        }
    }

    /// Threads of a process, by default of this one.
    public static func threadCount(of pid: Int32? = nil) -> Int {
        entryNames("/proc/\(pid.map(String.init) ?? "self")/task").count
    }

    /// Directories below a directory, at all levels; for a cgroup, its descendants.
    public static func directoryCount(below path: String) -> Int {
        entryNames(path).reduce(0) { sum, name in
            var status = stat()
            let child = "\(path)/\(name)"
            guard lstat(child, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return sum }
            return sum + 1 + directoryCount(below: child)
        }
    }

    /// Direct children of this process that have not been reaped, zombies included.
    public static func childCount() -> Int {
        let text = (try? readFile("/proc/self/task/\(getpid())/children")) ?? []
        return text.split(separator: UInt8(ascii: " ")).count
    }

    static func entryNames(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
