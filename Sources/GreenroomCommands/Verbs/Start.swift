import ArgumentParser
import GreenroomControl

struct Start: Verb {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Launch several apps.",
        discussion: """
            Launches each as launch does, without files and arguments. A pattern means the apps \
            that are not running.
            """)

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        forEach(apps, client, console, where: { $0.runningCount == 0 }) { app throws(Failure) in
            let call = Control.LaunchCall(repeatable: app, environment: [], arguments: [])
            let (_, launched) = try FollowedLaunch.begin(client, call)
            console.write(
                output.json
                    ? Report.json(ControlReply.launched(launched))
                    : Report.launched(launched, app: app))
        }
    }
}
