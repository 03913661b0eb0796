internal import GreenroomAppChannel

/// Folders of the app's own, which it may write to; the manifest says whether there are any (`Container=`). They
/// exist when the app runs and belong to its user. Programs that the app starts find them in `STATE_DIRECTORY`,
/// `CACHE_DIRECTORY` and `TMPDIR`.
public struct Container: Hashable, Sendable {
    /// What must stay: documents, settings, templates that were installed at the first launch. Absolute paths.
    public let stateDirectory: String
    /// What can be made again: the user or the system may empty it while the app does not run.
    public let cacheDirectory: String
    /// Emptied after the app has ended.
    public let temporaryDirectory: String

    init(_ container: AppContainer) {
        stateDirectory = container.state
        cacheDirectory = container.cache
        temporaryDirectory = container.temporary
    }
}

extension Application {
    /// Nil if the manifest wants none, and for an app that is run by hand.
    public var container: Container? { record.launch.container.map(Container.init) }
}
