internal import GreenroomAppChannel

/// A background task, from its beginning to its end; UIKit's `UIBackgroundTaskIdentifier`.
public struct BackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// No task was begun: there is no time left in the background.
    public static let invalid = BackgroundTaskIdentifier(rawValue: 0)
}

/// The tasks that are open.
struct BackgroundTasks {
    private var open: [(identifier: Int, expirationHandler: (@MainActor () -> Void)?)] = []
    private var lastIdentifier = 0
    /// When the time in the background ends: `CLOCK_MONOTONIC`, nanoseconds.
    private(set) var end: UInt64?
    private var isExpired = false

    /// More than anybody finishes in half a minute; the daemon counts no more.
    static let limit = 64

    mutating func begin(_ expirationHandler: (@MainActor () -> Void)?) -> Int? {
        guard !isExpired, open.count < Self.limit else { return nil }
        lastIdentifier += 1
        open.append((lastIdentifier, expirationHandler))
        return lastIdentifier
    }

    /// False if it has ended already.
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

    /// The handlers, each once, in the order in which the tasks began.
    mutating func expire(at end: UInt64) -> [@MainActor () -> Void] {
        self.end = end
        isExpired = true
        let handlers = open.compactMap(\.expirationHandler)
        for index in open.indices { open[index].expirationHandler = nil }
        return handlers
    }
}

extension Application {
    /// Begins a task that shall be finished even if the app goes to the background: it is not suspended
    /// while a task is open, for as long as ``backgroundTimeRemaining``.
    ///
    /// Each call needs a call of ``endBackgroundTask(_:)``. An app whose time is over while a task is open is
    /// ended.
    ///
    /// - Parameters:
    ///   - name: for people: `greenroomctl status` shows it.
    ///   - expirationHandler: called on the main thread shortly before the time is over. Clean up and end the
    ///     task in it.
    /// - Returns: ``BackgroundTaskIdentifier/invalid`` if no time is left, from the call of the expiration handlers
    ///   until the app is resumed or comes to the front.
    @discardableResult
    public func beginBackgroundTask(
        withName name: String? = nil, expirationHandler: (@MainActor () -> Void)? = nil
    ) -> BackgroundTaskIdentifier {
        guard let identifier = background.begin(expirationHandler) else { return .invalid }
        report(.background(.begin(identifier: UInt64(identifier), name: name)))
        return BackgroundTaskIdentifier(rawValue: identifier)
    }

    /// Ends a task. Ending it again does nothing.
    public func endBackgroundTask(_ identifier: BackgroundTaskIdentifier) {
        guard background.remove(identifier.rawValue) else { return }
        report(.background(.end(identifier: UInt64(identifier.rawValue))))
    }

    /// How long the app may go on in the background. Very long in the foreground, by hand, and until the
    /// daemon has said how long: `Duration.seconds(Int64.max)`.
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
        case .run(let run): TaskScheduler.shared.run(run, in: self)
        case .expire(let run): TaskScheduler.shared.expire(run, in: self)
        case .pendingRequests(let pending, let request):
            listRequests.removeValue(forKey: request)?(pending)
        }
    }
}
