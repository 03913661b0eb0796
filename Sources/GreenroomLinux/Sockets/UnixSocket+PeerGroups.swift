internal import CGreenroomLinux
public import Glibc

extension UnixSocket {
    /// The supplementary groups that the peer had when it connected (SO_PEERGROUPS, unix(7)); empty
    /// if the kernel does not tell. The primary group is not among them.
    public func peerGroups() -> [gid_t] {
        // The C library's header does not have SO_PEERGROUPS.
        let peerGroups: CInt = 59
        var groups: [gid_t] = []
        var capacity = 64
        while capacity <= 65_536 {
            var byteCount = socklen_t(capacity * MemoryLayout<gid_t>.size)
            groups = Array(repeating: 0, count: capacity)
            let status = unsafe getsockopt(
                descriptor.rawValue, SOL_SOCKET, peerGroups, &groups, &byteCount)
            if status == 0 {
                return Array(groups.prefix(Int(byteCount) / MemoryLayout<gid_t>.size))
            }
            guard errno == ERANGE else { return [] }
            capacity = Int(byteCount) / MemoryLayout<gid_t>.size
        }
        return []
    }
}
