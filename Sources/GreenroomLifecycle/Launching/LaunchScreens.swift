// Launch screens: which instances have one on the display. A shell shows a launch screen for
//
//   a launch into the foreground that a client waits for     from the request on
//   a launch in the background that comes to the front       from that moment on
//
// and never for a launch that stays in the background, an attached launch, or an app that runs
// already. The screen is taken away when the app first draws, and at the latest when the app
// becomes active (`untilActive`), leaves the front, or ends.

/// Whether an app has a launch screen, and what takes it away.
public enum LaunchScreenUse: UInt8, Sendable {
    case none
    case untilActive
    case untilFirstDraw
}

/// Why a launch screen is taken away.
public enum LaunchScreenEnd: Hashable, Sendable {
    case firstDraw
    case active
    /// The app left the front before it had drawn.
    case background
    /// The instance ended before it had drawn: the launch failed.
    case ended
}

extension Lifecycle {
    /// - Parameter origin: what its request has brought chooses one of several screens.
    mutating func showScreen(of id: InstanceIdentifier, for origin: LaunchOrigin) {
        let instance = self[id]
        let record = instance.record
        guard directory[record.app]?.description?.launchScreen ?? .none != .none,
            record.state == .launching, !record.inBackground, !record.isAttached,
            !record.showsLaunchScreen, !instance.hasDrawn
        else { return }
        update(id) { $0.showsLaunchScreen = true }
        report(.launchScreenShown(id, record.app, origin))
    }

    mutating func drewFirstFrame(_ id: InstanceIdentifier) {
        guard table[id] != nil else { return }
        self[id].hasDrawn = true
        dropScreen(of: id, .firstDraw)
    }

    private mutating func dropScreen(of id: InstanceIdentifier, _ end: LaunchScreenEnd) {
        guard self[id].record.showsLaunchScreen else { return }
        update(id) { $0.showsLaunchScreen = false }
        report(.launchScreenDropped(id, self[id].record.app, end))
    }

    /// Takes the launch screen away if the state that the instance has just entered says so.
    mutating func reviewScreen(of id: InstanceIdentifier, in state: ExecutionState) {
        guard self[id].record.showsLaunchScreen else { return }
        switch state {
        case .launching, .inactive, .prewarming, .prewarmed: break
        case .active:
            let use = directory[self[id].record.app]?.description?.launchScreen
            if use != .untilFirstDraw { dropScreen(of: id, .active) }
        case .background, .suspended: dropScreen(of: id, .background)
        case .terminating, .notRunning: dropScreen(of: id, .ended)
        }
    }
}
