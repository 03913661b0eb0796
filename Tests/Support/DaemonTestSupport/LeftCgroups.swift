import Glibc
import TestSupport

/// The cgroups that spawners without systemd make for their instances, below that of the test.
enum LeftCgroups {
    private static let own = Cgroups.folder(of: getpid()).map { $0.hasSuffix("/") ? $0 : $0 + "/" }

    /// The cgroups of these spawners that still exist.
    static func paths(of spawners: Set<Int32>) -> Set<String> {
        guard let own else { return [] }
        return Set(spawners.map { "\(own)greenroom-\($0)" }.filter { access($0, F_OK) == 0 })
    }

    /// The cgroups that exist now. A killed spawner leaves its cgroup, and another process may get
    /// the spawner's number later.
    static func paths() -> Set<String> {
        guard let own else { return [] }
        return Set(folders(in: own).filter { $0.hasPrefix("greenroom-") }.map { own + $0 })
    }

    /// Removes the cgroup and those below it, if they are empty.
    static func remove(_ path: String) {
        for name in folders(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }

    private static func folders(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let isFolder = entry.pointee.d_type == UInt8(DT_DIR)
            if isFolder, name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
