internal import CApplicationKit
internal import GreenroomAppChannel

/// The launch sequence in UIKit's order: application and delegate objects, main event loop, default
/// interface, willFinishLaunching, state restoration, didFinishLaunching and its notification. The
/// daemon then sends scenes or states, one by one. Each step is reported when it has been taken.
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

    /// The result of both methods: false if either returned false. A method that the delegate does
    /// not have (nil) does not count; if it has neither, the result is true.
    static func combine(_ will: Bool?, _ did: Bool?) -> Bool { (will ?? true) && (did ?? true) }

    /// Delivers the content for which the app was launched, unless a callback returned false: the
    /// app then refuses the URL or the activity, or has performed the quick action itself. A
    /// notification and a share are delivered in any case.
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

    /// The events that follow the launch if there is no daemon: the app comes to the foreground.
    static func eventsByHand(usesScenes: Bool) -> [AppEvent] {
        guard usesScenes else { return [.lifecycle(.didBecomeActive, cookie: 0)] }
        return [
            .connectScene(SceneConnection(session: "1", cookie: 0)),
            .scene(.willEnterForeground, session: "1", cookie: 0),
            .scene(.didBecomeActive, session: "1", cookie: 0),
        ]
    }
}
