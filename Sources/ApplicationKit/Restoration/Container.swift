internal import GreenroomAppChannel

/// The app's own folders, which it may write to, as absolute paths. The manifest says whether it
/// has any (`Container=`). They exist when the app runs and belong to its user. Programs that the
/// app starts find their paths in the environment variables `STATE_DIRECTORY`, `CACHE_DIRECTORY`
/// and `TMPDIR`.
///
/// Source: none; Apple has no such type.
public struct Container: Hashable, Sendable {
    /// For files that must stay: documents, settings, templates that the first launch installed.
    public let stateDirectory: String
    /// For files that the app can make again. The user or the system may empty this folder while
    /// the app does not run.
    public let cacheDirectory: String
    /// For files that the app needs while it runs. The folder is emptied after the app has ended.
    public let temporaryDirectory: String

    init(_ container: AppContainer) {
        stateDirectory = container.state
        cacheDirectory = container.cache
        temporaryDirectory = container.temporary
    }
}

extension Application {
    /// The app's own folders; nil if the manifest asks for none, and in an app that is run by hand.
    public var container: Container? { record.launch.container.map(Container.init) }
}
