internal import CApplicationKit
internal import GreenroomAppChannel

/// The launch sequence, as UIKit orders it: application and delegate objects, main event loop, default
/// interface, willFinishLaunching, state restoration, didFinishLaunching, its notification; then scenes or
/// states, which the daemon brings one by one. Each step is reported when it is done.
extension Application {
    func finishLaunching() {
        stage = .launching
        reached(.eventLoop)
        if !usesScenes, let name = record.launch.interface {
            call("application(_:loadInterfaceNamed:)") {
                delegate.application(self, loadInterfaceNamed: name)
            }
            reached(.interface)
        }
        let options = usesScenes ? nil : LaunchOptions(record)
        let will = callOptional("application(_:willFinishLaunchingWithOptions:)") {
            delegate.application(self, willFinishLaunchingWithOptions: options)
        }
        reached(.willFinishLaunching)
        restoreAtLaunch()
        reached(.stateRestoration)
        let did = callOptional("application(_:didFinishLaunchingWithOptions:)") {
            delegate.application(self, didFinishLaunchingWithOptions: options)
        }
        reached(.didFinishLaunching)
        cak_show_prewarm(false)
        post(Self.didFinishLaunchingNotification, userInfo: options)
        reached(.didFinishLaunchingNotification)
        stage = .launched

        let isAccepted = Self.combine(will, did)
        if !usesScenes { deliverAtLaunch(isAccepted: isAccepted) }
        let isNotification = record.launch.content.remoteNotification != nil
        if channel == nil { ownEvents = Self.eventsByHand(usesScenes: usesScenes) }
        acknowledge(record.launch.cookie, handled: isAccepted || isNotification)
    }

    /// Either's false is the whole's. One that the delegate does not have does not count; none is true.
    static func combine(_ will: Bool?, _ did: Bool?) -> Bool { (will ?? true) && (did ?? true) }

    /// What the launch was for is delivered unless a callback said no. For a quick action, that means that it
    /// has been dealt with; for a remote notification, nothing.
    private func deliverAtLaunch(isAccepted: Bool) {
        guard !record.launch.content.isEmpty else { return }
        var content = record.launch.content
        if !isAccepted {
            content.urls = []
            content.quickAction = nil
            content.userActivities = []
            content.handoffUserActivityType = nil
        }
        deliverToDelegate(content) { _ in }
    }

    /// What follows the launch where no daemon says it: the foreground.
    static func eventsByHand(usesScenes: Bool) -> [AppEvent] {
        guard usesScenes else { return [.lifecycle(.didBecomeActive, cookie: 0)] }
        return [
            .connectScene(SceneConnection(session: "1", cookie: 0)),
            .scene(.willEnterForeground, session: "1", cookie: 0),
            .scene(.didBecomeActive, session: "1", cookie: 0),
        ]
    }
}
