public import GreenroomControl
import TestSupport

/// The daemon's events since the creation of the watcher, without a gap.
public final class EventWatcher {
    private let client: TestClient
    /// All events that have been read.
    public private(set) var events: [Control.Event] = []

    /// The number of the latest event when the watcher was made.
    public let latest: UInt64

    public init(_ path: String, after: UInt64? = nil) throws {
        client = try TestClient(path)
        guard case .watching(let latest) = try client.call(.watch(after: after)) else {
            throw TestError("the first reply of Watch has an event")
        }
        self.latest = latest
    }

    /// Waits for the next event.
    public func next(milliseconds: Int32 = Processes.deadline) throws -> Control.Event {
        guard case .watched(let event?) = try client.reply(to: .watch(), milliseconds: milliseconds)
        else { throw TestError("a reply of Watch without an event") }
        events.append(event)
        return event
    }

    /// Waits for the next event, or until the descriptor is readable, for at most that time.
    func next(or other: Int32, milliseconds: Int32) throws {
        guard let reply = try client.reply(to: .watch(), or: other, milliseconds: milliseconds)
        else { return }
        if case .watched(let event?) = reply { events.append(event) }
    }

    /// Waits for the next event that fulfils the condition.
    @discardableResult
    public func next(_ isMeant: (Control.Event) -> Bool) throws -> Control.Event {
        while true {
            let event = try next()
            if isMeant(event) { return event }
        }
    }

    /// Waits until the instance enters the state.
    public func awaitState(_ state: Control.ExecutionState, of instance: UInt64) throws {
        try next { $0.kind == .stateChanged && $0.instance == instance && $0.to == state }
    }
}
