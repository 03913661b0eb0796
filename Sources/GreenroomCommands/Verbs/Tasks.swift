import ArgumentParser
import GreenroomControl

struct Tasks: Verb {
    static let configuration = CommandConfiguration(
        commandName: "tasks",
        abstract: "Show the work that apps have scheduled, and why it is not run yet.",
        discussion: """
            One task is run at a time, in the background. "greenroomctl debug run-task" runs one \
            without waiting.
            """)

    @Argument(help: "The app. Default: all.", completion: Candidates.apps)
    var app: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let name: String? = if let app { try client.resolve(app) } else { nil }
        let reply = try client.call(.task(.list(app: name)))
        guard case .tasks(let tasks) = reply else { return 1 }
        console.write(
            output.json
                ? Report.json(reply)
                : Report.tasks(tasks, now: Phrase.now, display.appearance(on: console)))
        return 0
    }
}

struct DebugRunTask: Verb {
    static let configuration = CommandConfiguration(
        commandName: "run-task",
        abstract: "Run a pending task of an app now.",
        discussion: """
            Does not wait for the earliest time, power, network or an idle machine. Returns when the \
            app has been told; "greenroomctl watch" shows how the run ends.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Argument(help: "The task's identifier, as \"greenroomctl tasks\" shows it.")
    var identifier: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(
            .task(.run(app: try client.resolve(app), identifier: identifier)))
        return console.show(reply, output)
    }
}

struct DebugExpireTask: Verb {
    static let configuration = CommandConfiguration(
        commandName: "expire-task",
        abstract: "Make the time of an app's task run out now.",
        discussion: """
            This is the time of the scheduled work that it runs, or else of its background tasks. The app \
            is told, and is ended if it does not end them.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.task(.expire(app: try client.resolve(app))))
        return console.show(reply, output)
    }
}

extension Console {
    fileprivate func show(_ reply: ControlReply, _ output: OutputOptions) -> Int32 {
        if output.json {
            write(Report.json(reply))
        } else if case .changed(let changed) = reply {
            line("instance \(changed.instance): \(changed.state.words)")
        }
        return 0
    }
}
