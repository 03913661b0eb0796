import Glibc
import GreenroomControl

/// Signals for the app. They are kept until there is an instance, and then sent to the daemon, each
/// on its own connection, because the main connection waits for the app's end.
struct ForwardedSignals {
    /// How long to wait for the reply to a signal, in milliseconds. A busy daemon has answered by
    /// then.
    private static let answerPause: CInt = 1000
    /// The same when the app has ended and the user wants to leave.
    private static let farewellPause: CInt = 200

    private let path: String
    private var early: [CInt] = []
    /// The connection on which the latest signal was not answered. The daemon may not take the next
    /// one either.
    private var unanswered: ControlClient?

    /// - Parameter path: the daemon's socket.
    init(path: String) { self.path = path }

    /// - Parameter hasEnded: whether the app has ended, as far as this process can see when the
    ///   signal is sent.
    /// - Returns: false if nobody takes the signal, which must then end this process.
    mutating func take(
        _ signal: CInt, for instance: UInt64?, hasEnded: @autoclosure () -> Bool
    ) -> Bool {
        guard let instance else {
            // The user has sent a second signal before the app runs.
            guard early.isEmpty else { return false }
            early.append(signal)
            return true
        }
        if let unanswered, !unanswered.hasInput(milliseconds: 0) { return false }
        return forward(signal, to: instance, hasEnded: hasEnded())
    }

    /// Whether the daemon has answered the latest signal, so that it can be asked something.
    var isAnswered: Bool { unanswered == nil }

    /// Sends the signals that came before there was an instance.
    /// - Returns: a signal that nobody took; nil if all were taken.
    mutating func sendKept(to instance: UInt64, hasEnded: @autoclosure () -> Bool) -> CInt? {
        let signals = early
        early = []
        return signals.first { !forward($0, to: instance, hasEnded: hasEnded()) }
    }

    /// Makes the kept signals pending for this process again, because there will be no instance.
    /// They are blocked, so they take effect later.
    mutating func returnKept() {
        for signal in early { kill(getpid(), signal) }
        early = []
    }

    /// - Returns: false if the daemon is away, or if it does not answer and the app has ended.
    private mutating func forward(_ signal: CInt, to instance: UInt64, hasEnded: Bool) -> Bool {
        do throws(Failure) {
            let client = try ControlClient(path: path)
            let call = ControlCall.signal(instance: instance, signal: signal)
            unanswered = nil
            // The app may still run where this process cannot see it. The daemon, if it is there,
            // knows.
            let pause = hasEnded ? Self.farewellPause : Self.answerPause
            guard try client.call(call, milliseconds: pause) == nil else { return true }
            if hasEnded { return false }
            unanswered = client
            StandardConsole().complain(
                "greenroomd has not answered \(Phrase.signalName(signal)); the next signal ends "
                    + "greenroomctl alone")
        } catch {
            switch error {
            case .control(.notRunning): break
            // The daemon is away, so nobody takes the signal. The same holds while this process
            // connects again.
            case .unreachable, .disconnected: return false
            case .control, .service, .unknown, .system, .ambiguous,
                .number, .manifest:
                StandardConsole().complain(
                    "\(Phrase.signalName(signal)) was not forwarded: \(error)")
            }
        }
        return true
    }
}
