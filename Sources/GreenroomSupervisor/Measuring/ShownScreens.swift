internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest
internal import Systemd

/// The launch screens that shells shall have on the display: which file, and since when. Whether there is one
/// the core says; which of several, the launch.
@LoopActor
final class ShownScreens {
    private unowned let supervisor: Supervisor
    private let catalog: AppCatalog
    private var shown: [InstanceIdentifier: Screen] = [:]

    private struct Screen {
        var file: String
        var requestedAt: Instant
    }

    init(supervisor: Supervisor, catalog: AppCatalog) {
        self.supervisor = supervisor
        self.catalog = catalog
    }

    func note(_ record: Record) {
        if case .launchScreenShown(let instance, let app, let request) = record {
            show(instance, app, request)
        }
        if case .launchScreenDropped(let instance, let app, let end) = record {
            drop(instance, app, end)
        }
    }

    private func show(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ request: RequestIdentifier
    ) {
        let context = supervisor.launcher.contexts[request]
        let hints = context?.screenHints ?? AppManifest.LaunchScreenHints()
        let urls = context?.content.urls.map(\.url) ?? []
        guard let file = catalog[app]?.launchScreens?.file(forURLs: urls, hints) else { return }
        let screen = Screen(file: file, requestedAt: context?.requestedAt ?? supervisor.now)
        shown[instance] = screen
        tell(.launchScreenShown, instance, app, screen, nil)
    }

    private func drop(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ end: LaunchScreenEnd
    ) {
        // Nothing was shown where no screen was meant for this launch.
        guard let screen = screen(of: instance, app) else { return }
        shown[instance] = nil
        tell(.launchScreenDropped, instance, app, screen, end.name)
    }

    private func tell(
        _ kind: Control.EventKind, _ instance: InstanceIdentifier, _ app: AppIdentifier,
        _ screen: Screen, _ step: String?
    ) {
        let elapsed = screen.requestedAt.duration(to: supervisor.now).microseconds
        supervisor.reporter.launchScreen(
            kind, of: app, instance, described(screen), step: step, elapsedUSec: elapsed)
    }

    private func described(_ screen: Screen) -> Control.LaunchScreen {
        Control.LaunchScreen(
            file: screen.file, shownTimestampUSec: WallClock.microseconds(at: screen.requestedAt))
    }

    func forget(_ instance: InstanceIdentifier) { shown[instance] = nil }

    /// The one that is on the display for an instance.
    func current(of record: InstanceRecord) -> Control.LaunchScreen? {
        guard record.showsLaunchScreen else { return nil }
        return screen(of: record.instance, record.app).map(described)
    }

    /// A former supervisor's choice is gone with it: the plain launch's stands for it.
    private func screen(of instance: InstanceIdentifier, _ app: AppIdentifier) -> Screen? {
        if let screen = shown[instance] { return screen }
        guard isInherited(instance),
            let file = catalog[app]?.launchScreens?.file(forURLs: [], .init()),
            let record = supervisor.lifecycle.instance(instance)
        else { return nil }
        return Screen(file: file, requestedAt: record.lastUsed)
    }

    /// Of instances up to this number a former supervisor has shown the screens.
    var lastInherited = InstanceIdentifier(0)

    private func isInherited(_ instance: InstanceIdentifier) -> Bool {
        instance.rawValue <= lastInherited.rawValue
    }
}

extension LaunchScreenEnd {
    /// As in the event stream.
    var name: String {
        switch self {
        case .firstDraw: "firstDraw"
        case .active: "active"
        case .background: "background"
        case .ended: "ended"
        }
    }
}
