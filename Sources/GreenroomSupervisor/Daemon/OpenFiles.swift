internal import GreenroomLinux

/// The limit of open files that we were started with. The first to ask raises ours: a client and an
/// instance take several each, and the customary 1024 are soon used up.
enum OpenFiles {
    static let initial: ResourceLimit = {
        let limit = ResourceLimit.current(.openFiles)
        limit.raiseSoft()
        return limit
    }()
}
