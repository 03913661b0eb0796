import ArgumentParser
import GreenroomControl

struct Launch: Verb {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Launch an app.",
        usage: """
            greenroomctl launch <app> [<file>...] [--action <name>] [--background] [--wait] \
            [--orientation <name>] [--size-class <name>] [--env <name=value>]... [--json] [--socket <path>] [-- <argument>...]
            """,
        discussion: """
            Uses the environment of the app user's session. If the app allows only one instance, \
            and that is running, it comes to the front.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    // The parser gets no words after "--" (`CommandWords.own`).
    @Argument(
        help: "Files and URLs to open; the program's arguments, after \"--\".",
        completion: .file())
    var words: [String] = []

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("Set this variable; may be repeated.", valueName: "name=value"))
    var environment: [String] = []

    @Option(help: "Start this action of the app's desktop entry instead of the app itself.")
    var action: String?

    @OptionGroup var screen: ScreenOptions

    @Flag(help: "Launch the app in the background.")
    var background = false

    @Flag(help: "Wait until the app ends, and end as it did.")
    var wait = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    mutating func validate() throws { try LaunchOptions.check(environment) }

    func exitCode(of failure: Failure) -> Int32 {
        wait ? failure.attachedExitCode : failure.exitCode
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let app = try client.resolve(app)
        var call = Control.LaunchCall(
            repeatable: app,
            environment: AttachedRun.variables(
                CommandWords.originals(of: environment, option: "--env")) ?? [],
            arguments: [])
        call.isBackground = background
        call.action = action
        call.orientation = screen.orientation?.orientation
        call.sizeClass = screen.sizeClass?.sizeClass
        call.arguments =
            CommandWords.originals(of: words).map(\.asFile) + CommandWords.behindTerminator
        let (following, launched) = try FollowedLaunch.begin(client, call)
        if !wait || output.json {
            console.write(
                output.json
                    ? Report.json(ControlReply.launched(launched))
                    : Report.launched(launched, app: app))
        }
        guard wait else { return 0 }
        let exited = try following.waitForExit()
        return Ending(exited.exit).take(console)
    }
}
