internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest
internal import Systemd

/// The launch screens that shells are to display: which file, and since when. The core decides
/// whether there is a screen; the launch decides which of several it is.
@LoopActor
final class ShownScreens {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let requests: Requests
    private let reporter: Reporter
    /// A former supervisor has shown the screens of the instances up to this number.
    private let lastAdopted: InstanceIdentifier

    private final class Shown: InstancePart {
        var screen: Screen?
    }

    private struct Screen {
        var file: String
        var requestedAt: Instant
    }

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, requests: Requests,
        reporter: Reporter, lastAdopted: InstanceIdentifier
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.requests = requests
        self.reporter = reporter
        self.lastAdopted = lastAdopted
    }

    func note(_ occurrence: Occurrence) {
        if case .launchScreenShown(let instance, let app, let origin) = occurrence {
            show(instance, app, origin)
        }
        if case .launchScreenDropped(let instance, let app, let end) = occurrence {
            drop(instance, app, end)
        }
    }

    private func show(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ origin: LaunchOrigin
    ) {
        let context = requests[origin]?.context
        let hints = context?.screenHints ?? AppManifest.LaunchScreenHints()
        let urls = context?.content.urls.map(\.url) ?? []
        guard let file = catalog[app]?.launchScreens?.file(forURLs: urls, hints) else { return }
        let screen = Screen(file: file, requestedAt: context?.requestedAt ?? core.now)
        instances.part(Shown.self, of: instance)?.screen = screen
        tell(.launchScreenShown, instance, app, screen, nil)
    }

    private func drop(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ end: LaunchScreenEnd
    ) {
        // Nothing was shown if this launch has no screen.
        guard let screen = screen(of: instance, app) else { return }
        instances.known(Shown.self, of: instance)?.screen = nil
        tell(.launchScreenDropped, instance, app, screen, end.name)
    }

    private func tell(
        _ kind: Control.EventKind, _ instance: InstanceIdentifier, _ app: AppIdentifier,
        _ screen: Screen, _ step: String?
    ) {
        let elapsed = screen.requestedAt.duration(to: core.now).microseconds
        reporter.launchScreen(
            kind, of: app, instance, described(screen), step: step, elapsedUSec: elapsed)
    }

    private func described(_ screen: Screen) -> Control.LaunchScreen {
        Control.LaunchScreen(
            file: screen.file, shownTimestampUSec: WallClock.microseconds(at: screen.requestedAt))
    }

    /// The screen that is displayed for an instance.
    func current(of record: InstanceRecord) -> Control.LaunchScreen? {
        guard record.showsLaunchScreen else { return nil }
        return screen(of: record.instance, record.app).map(described)
    }

    /// A former supervisor's choice is lost with it. The screen of a plain launch takes its place.
    private func screen(of instance: InstanceIdentifier, _ app: AppIdentifier) -> Screen? {
        if let screen = instances.known(Shown.self, of: instance)?.screen { return screen }
        guard isAdopted(instance),
            let file = catalog[app]?.launchScreens?.file(forURLs: [], .init()),
            let record = core.lifecycle.instance(instance)
        else { return nil }
        return Screen(file: file, requestedAt: record.lastUsed)
    }

    private func isAdopted(_ instance: InstanceIdentifier) -> Bool {
        instance.rawValue <= lastAdopted.rawValue
    }
}

extension LaunchScreenEnd {
    /// The word for this end in the event stream.
    var name: String {
        switch self {
        case .firstDraw: "firstDraw"
        case .active: "active"
        case .background: "background"
        case .ended: "ended"
        }
    }
}
