// The types for state preservation (`Preserving`, `HandingOver`).

/// What is kept for an app. The shell reports it when the app is installed; from then on the core
/// keeps track of it.
public struct KeptState: Hashable, Sendable {
    /// The state version of each archive. `SceneIdentifier.application` stands for the app's own
    /// archive.
    public var archives: [SceneIdentifier: UInt64]
    /// The scene sessions in order of use, and the discarded ones that the app was not told about.
    /// They are used after a reboot, when the app has no record.
    public var sessions: SessionList
    /// The versions that have finished a launch, the latest first.
    public var launchedVersions: [UInt64]

    /// At most this many versions are remembered: enough to go back several releases.
    public static let versionLimit = 16

    public init(
        archives: [SceneIdentifier: UInt64] = [:], sessions: SessionList = SessionList(),
        launchedVersions: [UInt64] = []
    ) {
        self.archives = archives
        self.sessions = sessions
        self.launchedVersions = launchedVersions
    }
}

/// Scene sessions as they are kept across a reboot.
public struct SessionList: Hashable, Sendable {
    public var open: [SceneIdentifier]
    public var discarded: [SceneIdentifier]
    /// The number of the latest scene session that was ever made.
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
    /// The archive is too large, so it was not sent.
    case tooLarge(byteCount: UInt64)
    /// The app needs more time than its callbacks take to restore its state.
    case extend
    case complete
}

/// Why an archive is refused.
public enum StateRefusal: Hashable, Sendable {
    case tooLarge(byteCount: UInt64)
    /// The app is not on its way to the background, or has already saved.
    case notNow
    /// The former archive is not restored yet.
    case restoring
    /// The app was never shown the former archive, because its user's protected data cannot be
    /// read.
    case withheld
    case noSuchSession
}

/// Why an archive is deleted.
public enum StateDeletion: UInt8, CaseIterable, Sendable {
    case forceQuit
    /// The app failed with the archive.
    case failedLaunch
    case discardedSession
    /// The app has nothing to restore.
    case nothingToKeep
    /// The archive's scene session is gone.
    case orphaned
}
