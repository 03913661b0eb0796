import Glibc
import GreenroomControl
import GreenroomLinux

/// A launch that is followed to its end, over a restart of the daemon if need be, with signals
/// forwarded meanwhile.
///
/// The launch has a name: after a lost connection the same call is made again on a new one, and the
/// daemon answers with the launch that it knows.
final class FollowedLaunch {
    /// How long the daemon may be away while the app runs. systemd restarts it at once; a reboot ends
    /// us anyway. 600 tries are 30 s.
    static let reconnectLimit = 600
    /// Before the app runs, when nothing is lost by giving up: 5 s, which a restart takes at most.
    static let launchLimit = 100
    /// For the status of an app that has ended meanwhile, which a daemon that was stopped takes along:
    /// 5 s.
    static let statusLimit = 100
    /// Before each try, in milliseconds.
    static let reconnectPause: CInt = 50

    /// Between looks whether a job in the background has come to the front, in milliseconds.
    static let frontPause: CInt = 200

    private var client: ControlClient
    private let call: Control.LaunchCall
    private let descriptors: [CInt]
    private let signals: SignalDescriptor?
    private let terminal: AppTerminal?
    private var job: JobControl
    private var forwarded: ForwardedSignals
    private var instance: UInt64?
    /// Asked to stop when there was nothing to freeze yet.
    private var stopsOnceLaunched = false
    /// Of an app with a terminal, until its main process has ended.
    private var process: ProcessDescriptor?

    init(
        _ client: ControlClient, _ call: Control.LaunchCall, descriptors: [CInt],
        signals: SignalDescriptor? = nil, terminal: AppTerminal? = nil
    ) {
        self.client = client
        self.terminal = terminal
        job = JobControl(client: client.path)
        forwarded = ForwardedSignals(path: client.path)
        self.call = call
        self.descriptors = descriptors
        self.signals = signals
    }

    func launch() throws(Failure) -> Control.Launched {
        let reply = try insist(.launch(call), descriptors: descriptors)
        guard case .launched(let launched) = reply else { throw .unknown("another question") }
        instance = launched.instance
        job.instance = launched.instance
        if client.sharesProcessNumbers { job.process = launched.processId }
        if terminal != nil {
            process = job.process.flatMap { try? ProcessDescriptor(pid: $0) }
            if process == nil, hasEnded { terminal?.leaveInput() }
        }
        if let signal = forwarded.sendKept(to: launched.instance, hasEnded: hasEnded) {
            die(by: signal)
        }
        if stopsOnceLaunched { stop() }
        return launched
    }

    func waitForExit() throws(Failure) -> Control.Exited {
        let target: Control.WaitTarget =
            call.launchIdentifier.map { .launch($0) } ?? .instance(instance ?? 0)
        let reply = try insist(.wait(target), descriptors: [])
        guard case .exited(let exited) = reply else { throw .unknown("another question") }
        return exited
    }

    /// The app's main process is gone, as far as we can see it. Asked only while there is nobody else to
    /// ask.
    private var hasEnded: Bool {
        guard let process = job.process else { return false }
        return ProcessTable.entry(of: process).map(\.isZombie) ?? true
    }

    private var limit: Int {
        guard instance != nil else { return Self.launchLimit }
        return hasEnded ? Self.statusLimit : Self.reconnectLimit
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
                    guard tries < limit else { throw error }
                    tries += 1
                    isConnected = false
                case .control, .service, .unknown, .system, .ambiguous, .number, .manifest:
                    throw error
                }
            }
        }
    }

    /// Returns when something was received, or happened otherwise: signals are forwarded, and the
    /// terminal's bytes.
    private func waitForInput() throws(Failure) {
        guard let signals else { return try client.receive() }
        do throws(SystemError) {
            var entries = [PollEntry(client.descriptor, POLLIN)]
            try attend(to: &entries, signals, milliseconds: -1) { [self] signal in
                forwardOrKeep(signal)
            }
            guard entries[0].isReady else { return }
        } catch {
            throw .system(error)
        }
        try client.receive()
    }

    /// Waits once, for these entries and for what a user does.
    private func attend(
        to entries: inout [PollEntry], _ signals: SignalDescriptor, milliseconds: CInt,
        forward: (CInt) -> Void
    ) throws(SystemError) {
        let ownCount = entries.count
        entries.append(PollEntry(signals.descriptor.rawValue, POLLIN))
        if let process { entries.append(PollEntry(process.descriptor.rawValue, POLLIN)) }
        let terminalEntries = entries.count
        if let terminal { entries += terminal.entries }
        let pause = pause(milliseconds)
        let count = try PollEntry.wait(&entries, milliseconds: pause.milliseconds)
        if entries[ownCount].isReady {
            while let signal = try signals.next() {
                if !handleJobSignal(signal) { forward(signal) }
            }
        }
        guard let terminal else { return }
        if terminalEntries > ownCount + 1, entries[ownCount + 1].isReady {
            // Before what was typed is read: it is for the shell. The daemon tells how the app ended.
            process = nil
            terminal.leaveInput()
        }
        if terminal.relay(entries[terminalEntries...]) { job.sawActivity() }
        if terminal.isWaitingForFront { terminal.takeFront() }
        if count == 0 && pause.isForJob && job.look() { job.stop(terminal, SIGTSTP) }
        if terminal.wantsFront {
            job.stop(terminal, SIGTTOU)
            if terminal.wantsFront { terminal.writeInBackground() }
        }
    }

    /// How long to wait for anything to happen, and whether the next look at the app is due then.
    private func pause(_ limit: CInt) -> (milliseconds: CInt, isForJob: Bool) {
        var pause = limit
        if let terminal, terminal.isWaitingForFront {
            pause = pause < 0 ? Self.frontPause : min(pause, Self.frontPause)
        }
        guard job.timeout >= 0, pause < 0 || job.timeout <= pause else { return (pause, false) }
        return (job.timeout, true)
    }

    /// - Returns: true if the signal was about the terminal or the job, and not for the app.
    private func handleJobSignal(_ signal: CInt) -> Bool {
        switch signal {
        case SIGWINCH:
            if let terminal {
                terminal.copyWindowSize()
            } else if instance != nil {
                // Nobody asks us to end by it, whether it arrives or not.
                _ = forwarded.take(signal, for: instance, hasEnded: hasEnded)
            }
        case SIGCONT: terminal?.takeFront()
        case SIGTSTP:
            // Stopped now, we could not freeze what is started meanwhile.
            if instance == nil { stopsOnceLaunched = true } else { stop() }
        case _: return false
        }
        return true
    }

    private func stop() {
        stopsOnceLaunched = false
        terminal?.signalForeground(SIGTSTP)
        job.stop(terminal, SIGTSTP)
    }

    private func forwardOrKeep(_ signal: CInt) {
        guard forwarded.take(signal, for: instance, hasEnded: hasEnded) else { die(by: signal) }
    }

    private func die(by signal: CInt) -> Never {
        terminal?.restore()
        Ending.die(by: signal)
    }

    /// After a pause, in which a signal ends us: there is nobody to forward it.
    private func reconnect() throws(Failure) {
        let deadline = MonotonicClock.nanoseconds + UInt64(Self.reconnectPause) * 1_000_000
        do throws(SystemError) {
            while true {
                let now = MonotonicClock.nanoseconds
                if now >= deadline { break }
                let rest = CInt((deadline - now) / 1_000_000 + 1)
                var entries: [PollEntry] = []
                if let signals {
                    try attend(to: &entries, signals, milliseconds: rest) { [self] in die(by: $0) }
                } else {
                    try PollEntry.wait(&entries, milliseconds: rest)
                }
            }
        } catch {
            throw .system(error)
        }
        client = try ControlClient(path: client.path)
    }
}
