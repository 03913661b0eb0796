import Glibc
import GreenroomControl
import GreenroomLinux

/// A launch that is followed to its end, even across a restart of the daemon. Until then, signals
/// are forwarded.
///
/// The launch has an identifier: after a lost connection, the same call is made again on a new one,
/// and the daemon answers with the launch that it knows.
final class FollowedLaunch {
    /// How many times to connect again while the app runs: for 30 s. systemd restarts the daemon at
    /// once, and a reboot ends this process anyway.
    static let reconnectLimit = 600
    /// How many times to connect again before the app is known to run: for 5 s, which is as long as
    /// a restart takes at most.
    static let launchLimit = 100
    /// How many times to connect again for the exit status of an app that has ended in the
    /// meantime: for 5 s. A daemon that was stopped takes the status with it.
    static let statusLimit = 100
    /// The pause before each attempt, in milliseconds.
    static let reconnectPause: CInt = 50

    /// The pause between checks whether a background job has come to the foreground, in
    /// milliseconds.
    static let frontPause: CInt = 200

    /// Nil before the first connection.
    private var client: ControlClient?
    private let path: String
    private let call: Control.LaunchCall
    private let descriptors: [CInt]
    private let signals: SignalDescriptor?
    private let terminal: AppTerminal?
    private var job: JobControl
    private var forwarded: ForwardedSignals
    private var instance: UInt64?
    /// Whether a connection ended after a call was sent on it, so that a daemon may have carried
    /// out the call.
    private var isDoubtful = false
    /// Whether this process was asked to stop before there was an instance to freeze.
    private var stopsOnceLaunched = false
    /// The main process of an app with a terminal, until it has ended.
    private var process: ProcessDescriptor?

    init(
        _ client: ControlClient?, _ path: String, _ call: Control.LaunchCall, descriptors: [CInt],
        signals: SignalDescriptor? = nil, terminal: AppTerminal? = nil
    ) {
        self.client = client
        self.path = path
        self.terminal = terminal
        job = JobControl(client: path)
        forwarded = ForwardedSignals(path: path)
        self.call = call
        self.descriptors = descriptors
        self.signals = signals
    }

    /// Launches the app by the daemon that has it.
    ///
    /// - Parameters:
    ///   - client: a connection; nil if the daemon is away.
    ///   - path: the daemon's socket.
    ///   - second: the socket of the daemon that is asked if this one does not have the app. Only
    ///     needed if `client` is nil, because a client knows that daemon.
    static func begin(
        _ client: ControlClient?, _ path: String, second: String? = nil,
        _ call: Control.LaunchCall, descriptors: [CInt],
        signals: SignalDescriptor? = nil, terminal: AppTerminal? = nil
    ) throws(Failure) -> (FollowedLaunch, Control.Launched) {
        func launch(
            by client: ControlClient?, _ path: String
        ) throws(Failure) -> (FollowedLaunch, Control.Launched) {
            let following = FollowedLaunch(
                client, path, call, descriptors: descriptors, signals: signals, terminal: terminal)
            return (following, try following.launch())
        }
        do throws(Failure) { return try launch(by: client, path) } catch {
            guard error.isOfMissingApp,
                let system = client?.system ?? second.flatMap({ try? ControlClient(path: $0) })
            else { throw error }
            do throws(Failure) { return try launch(by: system, system.path) } catch let second {
                throw second.isOfMissingApp ? error : second
            }
        }
    }

    static func begin(
        _ client: ControlClient, _ call: Control.LaunchCall
    ) throws(Failure) -> (FollowedLaunch, Control.Launched) {
        try begin(client, client.path, call, descriptors: [])
    }

    /// - Throws: `disconnected` if the app may run all the same. After any other error of the
    ///   daemon or of the connection, it does not run.
    private func launch() throws(Failure) -> Control.Launched {
        let reply: ControlReply
        do throws(Failure) {
            reply = try insist(.launch(call), descriptors: descriptors)
        } catch {
            // Whatever comes after this launch (another daemon, another program) gets the signals.
            forwarded.returnKept()
            if stopsOnceLaunched { kill(getpid(), SIGTSTP) }
            guard isDoubtful else { throw error }
            // A daemon that ends cannot tell what the one before it has launched.
            if case .control(.shuttingDown) = error { throw .disconnected }
            throw error.isOfUnreachableApp ? .disconnected : error
        }
        guard case .launched(let launched) = reply else { throw .unknown("another question") }
        resume(launched.instance, process: launched.processId)
        // This launch is over, and what came for it is not for an app that somebody else has
        // started.
        if !call.isAttached, launched.kind.joinsRunningInstance {
            forwarded.returnKept()
            return launched
        }
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

    /// The daemon has launched this instance.
    func resume(_ instance: UInt64, process: Int32?) {
        self.instance = instance
        job.instance = instance
        if client?.sharesProcessNumbers == true { job.process = process }
    }

    func waitForExit() throws(Failure) -> Control.Exited {
        let target: Control.WaitTarget =
            call.launchIdentifier.map { .launch($0) } ?? .instance(instance ?? 0)
        let reply = try insist(.wait(target), descriptors: [])
        guard case .exited(let exited) = reply else { throw .unknown("another question") }
        return exited
    }

    /// Whether the app's main process has ended, as far as this process can see. Only used while
    /// the daemon cannot be asked.
    private var hasEnded: Bool {
        guard let process = job.process else { return false }
        return ProcessTable.entry(of: process).map(\.isZombie) ?? true
    }

    private var limit: Int {
        guard instance != nil else { return Self.launchLimit }
        return hasEnded ? Self.statusLimit : Self.reconnectLimit
    }

    /// Repeats the call, on new connections if necessary, until there is a reply.
    private func insist(
        _ call: ControlCall, descriptors: [CInt]
    ) throws(Failure) -> ControlReply {
        var tries = 0
        while true {
            do throws(Failure) {
                let client = if let client { client } else { try reconnect() }
                try client.send(call, descriptors: descriptors)
                while true {
                    if let reply = try client.bufferedReply(to: call) { return reply }
                    try waitForInput(client)
                }
            } catch {
                switch error {
                case .disconnected, .unreachable, .control(.shuttingDown):
                    if case .disconnected = error { isDoubtful = true }
                    guard tries < limit else { throw error }
                    tries += 1
                    self.client = nil
                case .control, .service, .unknown, .system, .ambiguous, .number, .manifest:
                    throw error
                }
            }
        }
    }

    /// Returns when data was received, or after another event. Forwards signals and the terminal's
    /// bytes.
    private func waitForInput(_ client: ControlClient) throws(Failure) {
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

    /// Waits once, for these entries, signals, the end of the app and the terminal.
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
            // This must be done before the keys are read, because from now on they are for the
            // shell. The daemon will say how the app ended.
            process = nil
            terminal.leaveInput()
        }
        if terminal.relay(entries[terminalEntries...]) { job.sawActivity() }
        if forwarded.isAnswered, terminal.takeSignalKey() { job.thaw(terminal) }
        if terminal.isWaitingForFront { terminal.takeFront() }
        if count == 0 && pause.isForJob && job.look() { job.stop(terminal, SIGTSTP) }
        if terminal.wantsFront {
            job.stop(terminal, SIGTTOU)
            if terminal.wantsFront { terminal.writeInBackground() }
        }
    }

    /// How long to wait for an event, and whether to check afterwards if the app has stopped.
    private func pause(_ limit: CInt) -> (milliseconds: CInt, isForJob: Bool) {
        var pause = limit
        if let terminal, terminal.isWaitingForFront {
            pause = pause < 0 ? Self.frontPause : min(pause, Self.frontPause)
        }
        guard job.timeout >= 0, pause < 0 || job.timeout <= pause else { return (pause, false) }
        return (job.timeout, true)
    }

    /// - Returns: whether the signal was for the terminal or the job, and not for the app.
    private func handleJobSignal(_ signal: CInt) -> Bool {
        switch signal {
        case SIGWINCH:
            if let terminal {
                terminal.copyWindowSize()
            } else if instance != nil {
                // A failure to deliver this signal does not end this process.
                _ = forwarded.take(signal, for: instance, hasEnded: hasEnded)
            }
        case SIGCONT: terminal?.takeFront()
        case SIGTSTP:
            // If this process stopped now, it could not freeze an instance that is started
            // in the meantime.
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
        if [SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains(signal), forwarded.isAnswered {
            job.thaw(terminal)
        }
    }

    private func die(by signal: CInt) -> Never {
        terminal?.restore()
        Ending.die(by: signal)
    }

    /// Connects again after a pause. A signal in this pause ends this process, because nobody can
    /// forward it.
    private func reconnect() throws(Failure) -> ControlClient {
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
        let new = try ControlClient(path: path)
        client = new
        return new
    }
}
