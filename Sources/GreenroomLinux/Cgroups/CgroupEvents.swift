internal import Glibc

/// The open file cgroup.events of a cgroup (cgroups(7)). Opening it takes ten times as long as
/// reading it. Once the cgroup is removed, reading fails with `ENODEV`.
public struct CgroupEvents: Sendable {
    public let file: FileDescriptor

    /// More than the file has: it contains two keys today.
    private static let byteLimit = 256

    public init(of cgroup: Cgroup) throws(SystemError) {
        file = try cgroup.directory.open("cgroup.events", O_RDONLY)
    }

    /// The same as ``Cgroup/isPopulated()``.
    public func isPopulated() throws(SystemError) -> Bool { try read().populated }

    func read() throws(SystemError) -> (populated: Bool, frozen: Bool) {
        // This runs after every exit, so it makes no string.
        try unsafe withUnsafeTemporaryAllocation(byteCount: Self.byteLimit, alignment: 1) {
            chunk throws(SystemError) in
            let count = try systemCall("pread") {
                unsafe pread(file.rawValue, chunk.baseAddress, chunk.count, 0)
            }
            let lines = unsafe chunk[..<count].split(separator: UInt8(ascii: "\n"))
            let populated = unsafe lines.contains { unsafe $0.elementsEqual("populated 1".utf8) }
            let frozen = unsafe lines.contains { unsafe $0.elementsEqual("frozen 1".utf8) }
            return (populated, frozen)
        }
    }
}
