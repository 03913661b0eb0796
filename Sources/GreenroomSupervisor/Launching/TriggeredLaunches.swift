internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Launches for a reason: an app is to open something, or to be told about something. The app is
/// launched with its own arguments and environment, and is told the reason.
@LoopActor
final class TriggeredLaunches {
    private let core: Core
    private let catalog: AppCatalog
    private let contexts: LaunchContexts
    private let requests: Requests
    private var nextLaunch: UInt64 = 1
    /// A prefix that no other supervisor uses, not even one with the same process number.
    private lazy var prefix = "\(getpid())-\(core.now.nanoseconds)-"

    init(core: Core, catalog: AppCatalog, contexts: LaunchContexts, requests: Requests) {
        self.core = core
        self.catalog = catalog
        self.contexts = contexts
        self.requests = requests
    }

    /// A name for a launch that was given none.
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

    /// - Parameter limit: how often the app may be launched for this reason; nil for any number.
    func begin(
        _ app: InstalledApp, _ context: LaunchContext, _ key: EnvironmentKey,
        from origin: Requests.Origin, as identifier: LaunchIdentifier, inBackground: Bool,
        limit: TriggerLimit? = nil, joining: LaunchRequest.Joining = .singleInstance
    ) {
        var launch = LaunchRequest(
            app: app.identifier, launchIdentifier: identifier, environmentKey: key,
            inBackground: inBackground, joining: joining)
        launch.bootKey = context.bootKey
        requests.ask(
            limit.map { .trigger(launch, $0) } ?? .launch(launch), for: origin, context: context)
    }

    // MARK: Launches by the daemon itself

    func launchForTimer(_ identifier: AppIdentifier) { launchForSystem(identifier, .timer) }

    func launchForPath(_ identifier: AppIdentifier, _ limit: TriggerLimit) {
        launchForSystem(identifier, .path, limit)
    }

    /// Launches an app for an event that its manifest asks for. If the launch is refused (in a
    /// crash loop, for example), the next event tries again.
    private func launchForSystem(
        _ identifier: AppIdentifier, _ reason: AppLaunch.Reason, _ limit: TriggerLimit? = nil
    ) {
        guard let app = catalog[identifier],
            let (context, key) = try? context(of: app, AppContent(), reason)
        else { return }
        begin(
            app, context, key, from: .daemon, as: newIdentifier(), inBackground: true,
            limit: limit, joining: .anyInstance)
    }
}
