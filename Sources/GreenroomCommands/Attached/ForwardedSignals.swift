import Glibc
import GreenroomControl

/// Signals that are meant for the app: kept until there is an instance to send them to, then handed to
/// the daemon, each on a connection of its own, for the other one is busy waiting.
struct ForwardedSignals {
    /// To a signal, in milliseconds. A daemon that is only busy has answered by then.
    private static let answerPause: CInt = 1000
    /// From where the app has ended and the user wants out.
    private static let farewellPause: CInt = 200

    private let path: String
    private var early: [CInt] = []
    /// Where the latest was sent and not answered: there may be nobody to take the next.
    private var unanswered: ControlClient?

    /// - Parameter path: the daemon's socket.
    init(path: String) { self.path = path }

    /// - Parameter hasEnded: as far as we can see it; asked for when the signal is sent.
    /// - Returns: false where there is nobody to take it, and the user wants out.
    mutating func take(
        _ signal: CInt, for instance: UInt64?, hasEnded: @autoclosure () -> Bool
    ) -> Bool {
        guard let instance else {
            // Asked twice before anything runs.
            guard early.isEmpty else { return false }
            early.append(signal)
            return true
        }
        if let unanswered, !unanswered.hasInput(milliseconds: 0) { return false }
        return forward(signal, to: instance, hasEnded: hasEnded())
    }

    /// What came before there was an instance.
    /// - Returns: the signal that nobody took, nil where each was.
    mutating func sendKept(to instance: UInt64, hasEnded: @autoclosure () -> Bool) -> CInt? {
        let signals = early
        early = []
        return signals.first { !forward($0, to: instance, hasEnded: hasEnded()) }
    }

    /// - Returns: false where the daemon is away, or does not answer and the app has ended.
    private mutating func forward(_ signal: CInt, to instance: UInt64, hasEnded: Bool) -> Bool {
        do throws(Failure) {
            let client = try ControlClient(path: path)
            let call = ControlCall.signal(instance: instance, signal: signal)
            unanswered = nil
            // Perhaps only out of sight: the daemon knows, if it is there.
            let pause = hasEnded ? Self.farewellPause : Self.answerPause
            guard try client.call(call, milliseconds: pause) == nil else { return true }
            if hasEnded { return false }
            unanswered = client
            StandardConsole().complain(
                "greenroomd has not answered to \(Phrase.signalName(signal)); the next signal ends "
                    + "greenroomctl alone")
        } catch {
            switch error {
            case .control(.notRunning): break
            // The daemon is away: there is nobody to take it, as while we connect anew.
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
