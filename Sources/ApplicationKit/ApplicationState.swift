extension Application {
    /// Raw values are UIKit's. Not running, prewarmed and suspended are the system's view: an app never
    /// sees itself so.
    public enum State: Int, Sendable {
        case active = 0
        /// On its way into or out of the foreground, while it is launching to it too.
        case inactive = 1
        case background = 2
    }

    public enum BackgroundFetchResult: Sendable { case newData, noData, failed }

    /// *Inactive* while the app is launching into the foreground, *background* while it is launching into
    /// the background. With scenes: active if one is, else inactive if one is, else background.
    public var applicationState: State {
        guard usesScenes else { return ownState }
        let states = sessions.compactMap { $0.scene?.activationState }
        if states.contains(.foregroundActive) { return .active }
        if states.contains(.foregroundInactive) { return .inactive }
        return hasHadScene ? .background : ownState
    }
}
