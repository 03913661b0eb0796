internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle

extension StateDeletion {
    var words: String {
        switch self {
        case .forceQuit: "the app was force-quit"
        case .failedLaunch: "the app failed while the state was restored"
        case .discardedSession: "its scene session was discarded"
        case .nothingToKeep: "the app has nothing to come back to"
        case .orphaned: "its scene session is gone"
        }
    }
}

extension StateRefusal {
    /// The errno that the app is told.
    var code: Int32 {
        switch self {
        case .tooLarge: E2BIG
        case .notNow: EPERM
        case .restoring, .withheld: EBUSY
        case .noSuchSession: ENOENT
        }
    }

    var words: String {
        switch self {
        case .tooLarge(let byteCount):
            "its state has \(byteCount) bytes, and at most \(AppArchive.byteLimit) are kept: save "
                + "where the user was, and put what the user made into files"
        case .notNow:
            "state is saved once, on the way from the foreground into the background"
        case .restoring: "what was kept before is not restored yet"
        case .withheld:
            "what was kept before could not be handed over while protected data was locked"
        case .noSuchSession: "there is no such session"
        }
    }
}
