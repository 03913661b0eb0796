internal import GreenroomLinux

// Descriptors that must outlive the supervisor, for example listening sockets: a queued connection is
// not lost while another takes over.

extension Spawner {
    /// One that is kept under the name already is replaced.
    func keep(_ descriptor: FileDescriptor, as name: String) {
        let isNew = kept[name] == nil
        guard !isNew || kept.count < SpawnerLimits.keptCount,
            name.utf8.count <= SpawnerLimits.keptNameByteCount
        else { return }
        kept[name] = descriptor
    }
}

extension SpawnerLimits {
    /// Descriptors kept by name: sockets of some hundred apps.
    static let keptCount = 1024
    /// An app, a kind and an address.
    static let keptNameByteCount = 512
}
