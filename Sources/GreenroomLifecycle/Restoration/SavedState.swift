// The words of state preservation (`Preserving`, `HandingOver`).

/// What is known of what is kept for an app: the shell's word when the app is installed, and the core's
/// own from then on.
public struct KeptState: Hashable, Sendable {
    /// The state version of each archive; `SceneIdentifier.application` is the app's own.
    public var archives: [SceneIdentifier: UInt64]
    /// Sessions in order of use, and what the app has not heard of: counts after a reboot, when no
    /// record of the app is left.
    public var sessions: SessionList
    /// The version that last finished its launch; nil: none ever did.
    public var launchedVersion: UInt64?

    public init(
        archives: [SceneIdentifier: UInt64] = [:], sessions: SessionList = SessionList(),
        launchedVersion: UInt64? = nil
    ) {
        self.archives = archives
        self.sessions = sessions
        self.launchedVersion = launchedVersion
    }
}

/// Scene sessions as they are kept beyond the boot.
public struct SessionList: Hashable, Sendable {
    public var open: [SceneIdentifier]
    public var discarded: [SceneIdentifier]
    /// The youngest there ever was.
    public var last: UInt32

    public init(
        open: [SceneIdentifier] = [], discarded: [SceneIdentifier] = [], last: UInt32 = 0
    ) {
        self.open = open
        self.discarded = discarded
        self.last = last
    }
}

/// What an app says about its state.
public enum StateWish: Hashable, Sendable {
    case keep(byteCount: UInt64)
    case forget
    /// More than an archive may have, so it was not sent.
    case tooLarge(byteCount: UInt64)
    /// It needs longer than its callbacks to restore what it was given.
    case extend
    case complete
}

/// Why an archive is not taken.
public enum StateRefusal: Hashable, Sendable {
    case tooLarge(byteCount: UInt64)
    /// The app is not on its way into the background, or has saved already.
    case notNow
    /// What was kept before is not restored yet.
    case restoring
    /// The app was never shown what was kept before: its user is locked out of it.
    case withheld
    case noSuchSession
}

/// Why an archive is deleted.
public enum StateDeletion: UInt8, CaseIterable, Sendable {
    case forceQuit
    /// The app failed with it.
    case failedLaunch
    case discardedSession
    /// The app has nothing to come back to.
    case nothingToKeep
    /// Its session is gone.
    case orphaned
}
