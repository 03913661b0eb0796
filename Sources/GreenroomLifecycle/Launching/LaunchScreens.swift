// Launch screens: which instance has one on the display. Shells show it for
//
//   a launch into the foreground that somebody waits for     from the request on
//   a launch in the background that becomes one              from that on
//
// and never for a launch in the background, an attached one, or an app that runs already. It goes at the
// first draw; at the latest when the app is active (`untilActive`), is not in front any more, or ends.

/// Whether an app has a launch screen, and what takes it away.
public enum LaunchScreenUse: UInt8, Sendable {
    case none
    case untilActive
    case untilFirstDraw
}

/// Why a launch screen goes.
public enum LaunchScreenEnd: Hashable, Sendable {
    case firstDraw
    case active
    /// The app left the front before it had drawn.
    case background
    /// It ended first: the launch failed.
    case ended
}

extension Lifecycle {
    /// - Parameter request: whose content and hints choose among several screens.
    mutating func showScreen(of id: InstanceIdentifier, for request: RequestIdentifier) {
        let instance = self[id]
        let record = instance.record
        guard directory[record.app]?.description?.launchScreen ?? .none != .none,
            record.state == .launching, !record.inBackground, !record.isAttached,
            !record.showsLaunchScreen, !instance.hasDrawn
        else { return }
        update(id) { $0.showsLaunchScreen = true }
        report(.launchScreenShown(id, record.app, request))
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

    /// It has just entered the state.
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
