internal import GreenroomLinux

// Descriptors that must outlive the supervisor, such as listening sockets: a queued connection is
// not lost while the next supervisor takes over.

extension Spawner {
    /// Keeps a descriptor, and replaces one of the same name.
    func keep(_ descriptor: FileDescriptor, as name: String) {
        let isNew = kept[name] == nil
        guard !isNew || kept.count < SpawnerLimits.keptCount,
            name.utf8.count <= SpawnerLimits.keptNameByteCount
        else { return }
        kept[name] = descriptor
    }
}

extension SpawnerLimits {
    /// Descriptors kept by name: the sockets of some hundred apps.
    static let keptCount = 1024
    /// A name consists of an app, a kind and an address.
    static let keptNameByteCount = 512
}
