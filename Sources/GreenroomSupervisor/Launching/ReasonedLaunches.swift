internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Launches that nobody describes in full: an app is to open something, or to hear of something. What
/// it is launched with is its own, and it learns the reason.
@LoopActor
final class ReasonedLaunches {
    private let core: Core
    private let catalog: AppCatalog
    private let contexts: LaunchContexts
    private let requests: Requests
    private var nextLaunch: UInt64 = 1
    /// No other supervisor's, not even of the same process number.
    private lazy var prefix = "\(getpid())-\(core.now.nanoseconds)-"

    init(core: Core, catalog: AppCatalog, contexts: LaunchContexts, requests: Requests) {
        self.core = core
        self.catalog = catalog
        self.contexts = contexts
        self.requests = requests
    }

    /// For a launch that was given no name.
    func newIdentifier() -> LaunchIdentifier {
        defer { nextLaunch += 1 }
        return LaunchIdentifier(prefix + String(nextLaunch))
    }

    func context(
        of app: InstalledApp, _ content: AppContent, _ reason: AppLaunch.Reason
    ) throws(ControlError) -> (LaunchContext, EnvironmentKey) {
        var (context, key) = try contexts.gather(
            Control.LaunchCall(app: app.identifier.rawValue), for: app, descriptors: [],
            requestedAt: core.now)
        context.content = content
        context.reason = reason
        return (context, key)
    }

    /// - Parameter limit: how often the app is launched for this reason.
    func begin(
        _ app: InstalledApp, _ context: LaunchContext, _ key: EnvironmentKey,
        from origin: Requests.Origin, as identifier: LaunchIdentifier, inBackground: Bool,
        limit: TriggerLimit? = nil
    ) {
        let request = requests.begin(origin, context: context)
        let launch = LaunchRequest(
            app: app.identifier, launchIdentifier: identifier, environmentKey: key,
            inBackground: inBackground)
        core.handle(
            limit.map { .triggered(request, launch, $0) } ?? .launchRequested(request, launch))
    }

    // MARK: By themselves

    func launchForTimer(_ identifier: AppIdentifier) { launchForSystem(identifier, .timer) }

    func launchForPath(_ identifier: AppIdentifier, _ limit: TriggerLimit) {
        launchForSystem(identifier, .path, limit)
    }

    /// For an event that the app asked for in its manifest. What is refused (a crash loop, for example)
    /// is tried again with the next event.
    private func launchForSystem(
        _ identifier: AppIdentifier, _ reason: AppLaunch.Reason, _ limit: TriggerLimit? = nil
    ) {
        guard let app = catalog[identifier],
            let (context, key) = try? context(of: app, AppContent(), reason)
        else { return }
        begin(
            app, context, key, from: .daemon, as: newIdentifier(), inBackground: true,
            limit: limit)
    }
}
