extension Application {
    /// The app's state as the app itself sees it, with UIKit's raw values; UIKit's
    /// `UIApplication.State`. There are no cases for *not running*, *prewarmed* and *suspended*,
    /// because an app in one of these states runs no code that could look.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiapplication/state>
    public enum State: Int, Sendable {
        /// The app is in the foreground and the user is working with it.
        case active = 0
        /// The app is on its way into or out of the foreground, or is launching into it.
        case inactive = 1
        /// The app runs in the background.
        case background = 2
    }

    /// What a remote notification led to; UIKit's `UIBackgroundFetchResult`. `failed` is reported
    /// to whoever sent the notification; `newData` and `noData` both count as dealt with.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uibackgroundfetchresult>
    public enum BackgroundFetchResult: Sendable { case newData, noData, failed }

    /// The app's state; UIKit's `UIApplication.applicationState`. It is *inactive* while the app is
    /// launching into the foreground and *background* while it is launching into the background. An
    /// app with scenes is active if one of them is, else inactive if one of them is, else in the
    /// background.
    public var applicationState: State {
        guard usesScenes else { return ownState }
        let states = sessions.compactMap { $0.scene?.activationState }
        if states.contains(.foregroundActive) { return .active }
        if states.contains(.foregroundInactive) { return .inactive }
        return hasHadScene ? .background : ownState
    }
}
