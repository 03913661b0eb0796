import ArgumentParser
import GreenroomControl

struct Restart: Verb {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "End apps and launch them again.",
        discussion: """
            Ends all running instances as terminate does, and then launches the app once: in the \
            background if all of them were there. Starts an app that does not run.
            """)

    @Argument(help: "The apps, or patterns of apps that run.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        forEach(apps, client, console, where: { $0.runningCount > 0 }) { app throws(Failure) in
            let running = try client.running(app)
            for instance in running {
                do throws(Failure) {
                    _ = try client.call(.transition(.terminate, .instance(instance.instance)))
                } catch {
                    // The instance has ended by itself meanwhile.
                    guard case .control(.notRunning) = error else { throw error }
                }
            }
            var call = Control.LaunchCall(repeatable: app, environment: [], arguments: [])
            let hidden: [Control.ExecutionState] = [.background, .suspended]
            call.isBackground =
                !running.isEmpty
                && running.allSatisfy { $0.state.known.map(hidden.contains) ?? false }
            let (_, launched) = try FollowedLaunch.begin(client, call)
            console.write(
                output.json
                    ? Report.json(ControlReply.launched(launched))
                    : Report.launched(launched, app: app))
        }
    }
}
