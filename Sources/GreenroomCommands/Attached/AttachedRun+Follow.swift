import Glibc
import GreenroomControl
import GreenroomLinux

extension AttachedRun {
    /// Runs the app, and ends in the same way as the app.
    /// - Returns: the exit code.
    func execute(_ console: any Console) -> Int32 {
        let inheritance = inheritance
        Caller.fillStandardDescriptors()
        do throws(Failure) {
            let started: StartedRun
            do throws(Failure) {
                // The daemon may be away for a moment, while the app that greenroom-run has
                // launched goes on.
                let client =
                    begun == nil
                    ? try ControlClient.usual(option: socket)
                    : try? ControlClient.usual(option: socket)
                started = try start(client, SocketPath.find(option: socket), inheritance)
            } catch {
                guard let substitute, begun == nil else { throw error }
                if case .disconnected = error { throw error }
                if isConfined, !error.isOfUnreachableApp { throw error }
                // Signals that came during the failed launch take effect now.
                Caller.block(only: inheritance.blockedSignals)
                return Caller.execute(substitute, because: error.description, console)
            }
            return try started.end().take(console)
        } catch {
            console.complain(error.description)
            return error.attachedExitCode
        }
    }

    /// Runs the app to its end. The parameters are those of ``start(_:_:_:)``.
    func follow(
        _ client: ControlClient?, _ path: String, _ inheritance: Inheritance
    ) throws(Failure) -> Ending {
        try start(client, path, inheritance).end()
    }

    /// Launches the app. If this fails with `disconnected`, the app may run all the same; after any
    /// other error, it does not.
    ///
    /// - Parameters:
    ///   - client: a connection; nil if a launch has begun and the daemon is away.
    ///   - path: the daemon's socket.
    func start(
        _ client: ControlClient?, _ path: String, _ inheritance: Inheritance
    ) throws(Failure) -> StartedRun {
        var call = call(of: try client?.resolve(app) ?? app)
        let signals: SignalDescriptor
        var terminal: AppTerminal?
        let plan = try TerminalPlan(terminalUse)
        do throws(SystemError) {
            signals = try SignalDescriptor(inheritance.watchedSignals)
            if let plan { terminal = try AppTerminal(plan) }
        } catch {
            throw .system(error)
        }
        let descriptors = try call.attach(terminal, inheritance)
        terminal?.takeFront()
        let following: FollowedLaunch
        var hasJoined = false
        if let begun, let instance = begun.instance {
            following = FollowedLaunch(
                client, path, call, descriptors: descriptors, signals: signals, terminal: terminal)
            following.resume(instance, process: begun.process)
        } else {
            let second = client == nil && socket == nil ? SocketPath.second(after: path) : nil
            do throws(Failure) {
                let launched: Control.Launched
                (following, launched) = try FollowedLaunch.begin(
                    client, path, second: second, call, descriptors: descriptors,
                    signals: signals, terminal: terminal)
                hasJoined = !isAttached && launched.kind.joinsRunningInstance
            } catch {
                terminal?.restore()
                throw error.naming(directory: Caller.currentPath() ?? "this directory")
            }
        }
        return StartedRun(launch: following, terminal: terminal, hasJoined: hasJoined)
    }

    /// What this process has inherited, apart from what greenroom-run has changed.
    private var inheritance: Inheritance {
        begun.map { Inheritance.own.with(blockedSignals: $0.blockedSignals) } ?? .own
    }
}

/// An app that was launched and is attached to this process.
struct StartedRun {
    fileprivate let launch: FollowedLaunch
    fileprivate let terminal: AppTerminal?
    /// Whether another launch had started the app, so that this one is over.
    fileprivate let hasJoined: Bool

    /// Waits for the app's end.
    func end() throws(Failure) -> Ending {
        if hasJoined { return .status(0) }
        defer { terminal?.restore() }
        let exited = try launch.waitForExit()
        terminal?.finish()
        return Ending(exited.exit)
    }
}

extension Control.LaunchCall {
    /// Puts into the call what an attached app takes over from this process.
    /// - Returns: the descriptors to send with it. They stay open until the process ends, so that
    ///   the call can be repeated.
    fileprivate mutating func attach(
        _ terminal: AppTerminal?, _ inheritance: Inheritance
    ) throws(Failure) -> [CInt] {
        takesTerminal = terminal != nil
        do throws(InheritanceError) {
            return try attach(inheritance) { number in
                guard let terminal, terminal.plan.replaced.contains(number) else { return nil }
                return terminal.descriptor
            }
        } catch {
            throw .system(error.systemError)
        }
    }
}

extension InheritanceError {
    fileprivate var systemError: SystemError {
        switch self {
        case .tooManyDescriptors(let count):
            SystemError(
                code: E2BIG, call: "passing descriptors",
                subject: "\(count) are open beside the standard ones and at most "
                    + "\(Control.LaunchCall.otherDescriptorLimit) can be passed; close some")
        case .directory(let code): SystemError(code: code, call: "open", subject: "/proc/self/cwd")
        }
    }
}

extension Ending {
    /// Ends this process if a signal ended the app; otherwise returns the exit code.
    func take(_ console: any Console) -> Int32 {
        switch self {
        case .status(let status): return status
        case .signal(let signal): Ending.die(by: signal)
        case .unseen:
            console.complain("the app has ended; its exit status is not known")
            return 1
        }
    }
}
