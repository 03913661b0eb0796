internal import GreenroomAppChannel

/// A background task, from its beginning to its end; UIKit's `UIBackgroundTaskIdentifier`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uibackgroundtaskidentifier>
public struct BackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    /// The task's number: tasks count up from 1, and 0 is ``invalid``.
    public let rawValue: Int
    /// Creates the identifier of the task with that number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Says that no task was begun; UIKit's `UIBackgroundTaskIdentifier.invalid`.
    public static let invalid = BackgroundTaskIdentifier(rawValue: 0)
}

/// The app's open background tasks.
struct BackgroundTasks {
    private var open: [(identifier: Int, expirationHandler: (@MainActor () -> Void)?)] = []
    private var lastIdentifier = 0
    /// When the time in the background ends: `CLOCK_MONOTONIC`, nanoseconds.
    private(set) var end: UInt64?
    private var isExpired = false

    mutating func begin(_ expirationHandler: (@MainActor () -> Void)?) -> Int? {
        guard !isExpired, open.count < AppLimits.backgroundTasks else { return nil }
        lastIdentifier += 1
        open.append((lastIdentifier, expirationHandler))
        return lastIdentifier
    }

    /// - Returns: false if the task has ended already.
    mutating func remove(_ identifier: Int) -> Bool {
        guard let index = open.firstIndex(where: { $0.identifier == identifier }) else {
            return false
        }
        open.remove(at: index)
        return true
    }

    mutating func limit(to end: UInt64?) {
        self.end = end
        if end == nil { isExpired = false }
    }

    /// Gives out the expiration handlers, each once, in the order in which their tasks began.
    mutating func expire(at end: UInt64) -> [@MainActor () -> Void] {
        self.end = end
        isExpired = true
        let handlers = open.compactMap(\.expirationHandler)
        for index in open.indices { open[index].expirationHandler = nil }
        return handlers
    }
}

extension Application {
    /// Begins a task that the app wants to finish even if it goes to the background; UIKit's method
    /// of the same name. The app is not suspended while a task is open, for at most
    /// ``backgroundTimeRemaining``.
    ///
    /// End each task with ``endBackgroundTask(_:)``. An app whose time runs out while a task is
    /// open is ended. At most 64 tasks may be open.
    ///
    /// - Parameters:
    ///   - name: a name for humans, which `greenroomctl status` shows.
    ///   - expirationHandler: called on the main thread shortly before the time runs out. It must
    ///     clean up and end the task.
    /// - Returns: ``BackgroundTaskIdentifier/invalid`` if 64 tasks are open, or if the time is about
    ///   to end: after the expiration handlers were called, until the app is resumed or comes to the
    ///   foreground.
    @discardableResult
    public func beginBackgroundTask(
        withName name: String? = nil, expirationHandler: (@MainActor () -> Void)? = nil
    ) -> BackgroundTaskIdentifier {
        guard let identifier = background.begin(expirationHandler) else { return .invalid }
        report(.background(.begin(identifier: UInt64(identifier), name: name)))
        return BackgroundTaskIdentifier(rawValue: identifier)
    }

    /// Ends a task; UIKit's method of the same name. Ending it again does nothing.
    public func endBackgroundTask(_ identifier: BackgroundTaskIdentifier) {
        guard background.remove(identifier.rawValue) else { return }
        report(.background(.end(identifier: UInt64(identifier.rawValue))))
    }

    /// How long the app may go on running in the background; UIKit's property of the same name. It
    /// is `Duration.seconds(Int64.max)` while the app is in the foreground, until the daemon has
    /// set a limit, and in an app that is run by hand.
    public var backgroundTimeRemaining: Duration {
        guard let end = background.end else { return .seconds(Int64.max) }
        let now = monotonicNanoseconds()
        return .nanoseconds(Int64(clamping: end > now ? end - now : 0))
    }

    func handle(_ event: AppEvent.Background) {
        switch event {
        case .time(let end): background.limit(to: end)
        case .timeExpires(let end):
            for handler in background.expire(at: end) { call("expirationHandler", handler) }
        case .run(let run):
            launchInfo.note(.scheduledTask)
            TaskScheduler.shared.run(run, in: self)
        case .expire(let run): TaskScheduler.shared.expire(run, in: self)
        case .pendingRequests(let pending, let request):
            listRequests.removeValue(forKey: request)?(pending)
        }
    }
}
