import ArgumentParser
import GreenroomControl

// The verbs that change an instance's state.

/// A verb that changes the state of one instance.
protocol TransitionVerb: Verb {
    static var transition: Control.Transition { get }
    var target: TargetOptions { get }
    var output: OutputOptions { get }
}

extension TransitionVerb {
    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let target: Control.Target
        if let app = self.target.app {
            target = .app(try client.resolve(app))
        } else {
            target = .instance(self.target.instance ?? 0)
        }
        let reply = try client.call(.transition(Self.transition, target))
        guard case .changed(let changed) = reply else { return 1 }
        if output.json {
            console.write(Report.json(reply))
        } else {
            console.line("instance \(changed.instance): \(changed.state.words)")
        }
        return 0
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
        abstract: "Freeze an app.")
    static let transition = Control.Transition.suspend
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Resume: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Thaw a suspended app, into the background.")
    static let transition = Control.Transition.resume
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Terminate: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: "Ask an app to end, and kill it if it does not.")
    static let transition = Control.Transition.terminate
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}

struct Kill: TransitionVerb {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Kill all processes of an app at once.")
    static let transition = Control.Transition.kill
    @OptionGroup var target: TargetOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions
}
