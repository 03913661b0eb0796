import Glibc
import GreenroomControl
import GreenroomLinux

/// A launch that is followed to its end, over a restart of the daemon if need be, with signals
/// forwarded meanwhile.
///
/// The launch has a name: after a lost connection the same call is made again on a new one, and the
/// daemon answers with the launch that it knows.
final class FollowedLaunch {
    /// How long the daemon may be away. systemd restarts it at once; a reboot ends us anyway.
    /// 600 tries are 30 s.
    static let reconnectLimit = 600
    /// Before each try, in milliseconds.
    static let reconnectPause: CInt = 50

    private var client: ControlClient
    private let call: Control.LaunchCall
    private let descriptors: [CInt]
    private let signals: SignalDescriptor?
    /// Signals that came before there was an instance to send them to.
    private var early: [CInt] = []
    private var instance: UInt64?

    init(
        _ client: ControlClient, _ call: Control.LaunchCall, descriptors: [CInt],
        signals: SignalDescriptor? = nil
    ) {
        self.client = client
        self.call = call
        self.descriptors = descriptors
        self.signals = signals
    }

    func launch() throws(Failure) -> Control.Launched {
        let reply = try insist(.launch(call), descriptors: descriptors)
        guard case .launched(let launched) = reply else { throw .unknown("oddly") }
        instance = launched.instance
        for signal in early { forward(signal, to: launched.instance) }
        early = []
        return launched
    }

    func waitForExit() throws(Failure) -> Control.Exited {
        let target: Control.WaitTarget =
            call.launchIdentifier.map { .launch($0) } ?? .instance(instance ?? 0)
        let reply = try insist(.wait(target), descriptors: [])
        guard case .exited(let exited) = reply else { throw .unknown("oddly") }
        return exited
    }

    /// Calls until there is an answer, on new connections if need be.
    private func insist(
        _ call: ControlCall, descriptors: [CInt]
    ) throws(Failure) -> ControlReply {
        var tries = 0
        var isConnected = true
        while true {
            do throws(Failure) {
                if !isConnected { try reconnect() }
                isConnected = true
                try client.send(call, descriptors: descriptors)
                while true {
                    if let reply = try client.bufferedReply(to: call) { return reply }
                    try waitForInput()
                }
            } catch {
                switch error {
                case .disconnected, .unreachable, .control(.shuttingDown):
                    guard tries < Self.reconnectLimit else { throw error }
                    tries += 1
                    isConnected = false
                case .control, .service, .unknown, .system, .ambiguous, .manifest: throw error
                }
            }
        }
    }

    /// Returns when something was received; forwards signals until then.
    private func waitForInput() throws(Failure) {
        guard let signals else { return try client.receive() }
        do throws(SystemError) {
            var entries = [
                PollEntry(client.descriptor, POLLIN),
                PollEntry(signals.descriptor.rawValue, POLLIN),
            ]
            _ = try PollEntry.wait(&entries, milliseconds: -1)
            if entries[1].isReady { try takeSignals(signals) }
            guard entries[0].isReady else { return }
        } catch {
            throw .system(error)
        }
        try client.receive()
    }

    private func takeSignals(_ signals: SignalDescriptor) throws(SystemError) {
        while let signal = try signals.next() {
            if let instance {
                forward(signal, to: instance)
            } else if early.isEmpty {
                early.append(signal)
            } else {
                // Asked twice before anything runs: the user wants out.
                Ending.die(by: signal)
            }
        }
    }

    /// On a connection of its own: the other one is busy waiting. If it fails the app has ended, or
    /// the daemon is away and the signal is lost, as the user will see.
    private func forward(_ signal: CInt, to instance: UInt64) {
        do throws(Failure) {
            let client = try ControlClient(path: client.path)
            _ = try client.call(.signal(instance: instance, signal: signal))
        } catch {
            switch error {
            case .control(.notRunning): break
            case .unreachable, .disconnected, .control, .service, .unknown, .system, .ambiguous,
                .manifest:
                StandardConsole().complain(
                    "\(Phrase.signalName(signal)) was not forwarded: \(error)")
            }
        }
    }

    /// After a pause, in which a signal ends us: there is nobody to forward it.
    private func reconnect() throws(Failure) {
        do throws(SystemError) {
            var entries = signals.map { [PollEntry($0.descriptor.rawValue, POLLIN)] } ?? []
            if try PollEntry.wait(&entries, milliseconds: Self.reconnectPause) > 0,
                let signal = try signals?.next()
            {
                Ending.die(by: signal)
            }
        } catch {
            throw .system(error)
        }
        client = try ControlClient(path: client.path)
    }
}
