import ArgumentParser
import GreenroomControl

struct Launch: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Launch an app.",
        usage: """
            greenroomctl launch <app> [<file>...] [--action <name>] [--background] [--wait] \
            [--env <name=value>]... [--json] [--socket <path>] [-- <argument>...]
            """,
        discussion: """
            Uses the environment of the app user's session. An app of single instances that runs \
            already comes to the front.
            """)

    @OptionGroup var launch: LaunchOptions

    @Argument(help: "Files and URLs to open.", completion: .file())
    var files: [String] = []

    @Option(help: "Start this action of its desktop entry instead of the app itself.")
    var action: String?

    @Flag(help: "Not to the front.")
    var background = false

    @Flag(help: "Wait for its end, and end as it does.")
    var wait = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func exitCode(of failure: Failure) -> Int32 {
        wait ? failure.attachedExitCode : failure.exitCode
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let app = try client.resolve(launch.app)
        var call = launch.call(app: app)
        call.isBackground = background
        call.action = action
        // The app runs in another directory.
        call.arguments = files.map(Caller.absolute) + call.arguments
        let following = FollowedLaunch(client, call, descriptors: [])
        let launched = try following.launch()
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
