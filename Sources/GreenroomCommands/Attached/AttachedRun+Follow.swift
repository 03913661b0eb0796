import GreenroomControl
import GreenroomLinux

extension AttachedRun {
    /// Runs the app, and ends in the same way as the app.
    /// - Returns: the exit code.
    func execute(_ console: any Console) -> Int32 {
        let inheritance = inheritance
        Caller.fillStandardDescriptors()
        do throws(Failure) {
            // The daemon may be away for a moment, while the app that greenroom-run has launched
            // goes on.
            let client =
                begun == nil
                ? try ControlClient.usual(option: socket)
                : try? ControlClient.usual(option: socket)
            return try follow(client, SocketPath.find(option: socket), console, inheritance)
                .take(console)
        } catch {
            console.complain(error.description)
            return error.attachedExitCode
        }
    }

    /// Runs the app to its end.
    ///
    /// - Parameters:
    ///   - client: a connection; nil if a launch has begun and the daemon is away.
    ///   - path: the daemon's socket.
    func follow(
        _ client: ControlClient?, _ path: String, _ console: any Console,
        _ inheritance: Inheritance
    ) throws(Failure) -> Ending {
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
        defer { terminal?.restore() }
        terminal?.takeFront()
        let following: FollowedLaunch
        if let begun, let instance = begun.instance {
            following = FollowedLaunch(
                client, path, call, descriptors: descriptors, signals: signals, terminal: terminal)
            following.resume(instance, process: begun.process)
        } else {
            let second = client == nil && socket == nil ? SocketPath.second(after: path) : nil
            (following, _) = try FollowedLaunch.begin(
                client, path, second: second, call, descriptors: descriptors, signals: signals,
                terminal: terminal)
        }
        let exited = try following.waitForExit()
        terminal?.finish()
        return Ending(exited.exit)
    }

    /// What this process has inherited, apart from what greenroom-run has changed.
    private var inheritance: Inheritance {
        begun.map { Inheritance.own.with(blockedSignals: $0.blockedSignals) } ?? .own
    }
}
