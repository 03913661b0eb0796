internal import GreenroomLinux

/// The limit of open files with which the daemon was started, and which apps are to have.
enum DescriptorLimit {
    static let initial = ResourceLimit.current(.openFiles)

    /// A client and an instance take several descriptors each, and the customary 1024 are soon used
    /// up.
    static func raise() { initial.raiseSoft() }
}
