import ArgumentParser
import GreenroomControl
import UnitFile

// The verbs that change an instance's state.

/// A verb that changes the state of one instance.
protocol TransitionVerb: Verb {
    static var transition: Control.Transition { get }
    var target: TargetOptions { get }
    var output: OutputOptions { get }
}

extension TransitionVerb {
    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        if let instance = target.instance {
            try change(.instance(instance), client, console)
            return 0
        }
        return forEach(target.apps, client, console, where: { $0.runningCount > 0 }) {
            app throws(Failure) in
            try change(.app(app), client, console)
        }
    }

    func change(
        _ target: Control.Target, _ client: ControlClient, _ console: any Console
    ) throws(Failure) {
        let reply: ControlReply
        do throws(Failure) {
            reply = try client.call(.transition(Self.transition, target))
        } catch {
            guard case .control(.notRunning(.app(let app))) = error,
                [.terminate, .kill].contains(Self.transition)
            else { throw error }
            throw .nothingToEnd(of: app)
        }
        guard case .changed(let changed) = reply else { return }
        if output.json {
            console.write(Report.json(reply))
        } else {
            let end = changed.state == .known(.notRunning) ? client.end(of: changed.instance) : nil
            console.line("instance \(changed.instance): \(end ?? changed.state.words)")
            if case .app(let app) = target, [.terminate, .kill].contains(Self.transition) {
                let rest = ((try? client.running(app)) ?? []).filter {
                    $0.instance != changed.instance
                }
                let numbers = rest.map { String($0.instance) }.joined(separator: ", ")
                if !rest.isEmpty { console.line("still running: \(numbers)") }
            }
        }
    }
}

struct Foreground: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "foreground",
        abstract: "Bring an app to the foreground.")
    static let transition = Control.Transition.foreground
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Background: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "background",
        abstract: "Send an app to the background.")
    static let transition = Control.Transition.background
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Suspend: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Freeze an app.",
        aliases: ["freeze"])
    static let transition = Control.Transition.suspend
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Resume: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Thaw a suspended app, into the background.",
        aliases: ["thaw"])
    static let transition = Control.Transition.resume
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Interrupt: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "interrupt",
        abstract: "Say that something covers an app, which becomes inactive.")
    static let transition = Control.Transition.interrupt
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct EndInterruption: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "end-interruption",
        abstract: "Say that nothing covers an app any more.")
    static let transition = Control.Transition.endInterruption
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Terminate: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: "Ask an app to end, and kill it if it does not.",
        aliases: ["stop"])
    static let transition = Control.Transition.terminate
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Kill: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Kill all processes of an app at once, or send it a signal.")
    static let transition = Control.Transition.kill

    @Option(
        name: [.customShort("s", allowingJoined: true), .long],
        help: ArgumentHelp(
            "Send this signal to the main process of each running instance instead.",
            valueName: "signal"))
    var signal: String?

    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    mutating func validate() throws { _ = try number() }

    private func number() throws -> Int32? {
        guard let signal else { return nil }
        do throws(ValueError) { return try Word(text: signal, offset: 0).signal() } catch {
            throw ValidationError("--signal: \(error.message).")
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        guard let number = try? number() else { return try plain(client, console) }
        if let instance = target.instance {
            _ = try client.call(.signal(instance: instance, signal: number))
            return 0
        }
        return forEach(target.apps, client, console, where: { $0.runningCount > 0 }) {
            app throws(Failure) in
            let running = try client.running(app)
            guard !running.isEmpty else { throw .nothingToEnd(of: app) }
            for instance in running {
                _ = try client.call(.signal(instance: instance.instance, signal: number))
            }
        }
    }

    private func plain(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        if let instance = target.instance {
            try change(.instance(instance), client, console)
            return 0
        }
        let isThere: (Control.AppSummary) -> Bool = { $0.runningCount + $0.prewarmedCount > 0 }
        return forEach(target.apps, client, console, where: isThere) { app throws(Failure) in
            try change(.app(app), client, console)
        }
    }
}

extension ControlClient {
    /// How an instance ended, in words; nil if the daemon does not say it.
    fileprivate func end(of instance: UInt64) -> String? {
        guard case .status(let instances)? = try? call(.status(.instance(instance))) else {
            return nil
        }
        return instances.first.flatMap(\.exit).map { Phrase.exit($0) }
    }

    /// The app's instances that were launched and have not ended.
    func running(_ app: String) throws(Failure) -> [Control.InstanceStatus] {
        guard case .status(let instances) = try call(.status(.app(app))) else { return [] }
        return instances.filter { instance in
            switch instance.state.known {
            case .launching, .inactive, .active, .background, .suspended: true
            case .notRunning, .prewarming, .prewarmed, .terminating, nil: false
            }
        }
    }
}
