internal import GreenroomLinux

/// What one supervisor leaves to the next.
struct Legacy {
    var state: SharedMemory?
    /// Whether the state file was written during this boot, so that its contents may still be true.
    var keepsState = false
    /// Descriptors that must outlive the supervisor, by name, such as listening sockets: a queued
    /// connection is not lost while the next supervisor takes over.
    var kept: [String: FileDescriptor] = [:]

    /// Keeps a descriptor in place of any of the same name.
    mutating func keep(_ descriptor: FileDescriptor, as name: String) {
        let isNew = kept[name] == nil
        guard !isNew || kept.count < SpawnerLimits.keptCount,
            name.utf8.count <= SpawnerLimits.keptNameByteCount
        else { return }
        kept[name] = descriptor
    }

    mutating func drop(_ name: String) { kept[name] = nil }
}

extension SpawnerLimits {
    /// Descriptors kept by name; enough for the sockets of some hundred apps.
    static let keptCount = 1024
    /// A name consists of an app, a kind and an address.
    static let keptNameByteCount = 512
}
