import ArgumentParser
import GreenroomControl

struct Scene: Verb {
    static let configuration = CommandConfiguration(
        commandName: "scene",
        abstract: "Open, hide, close or discard a scene of an app.",
        discussion: """
            Without a session, activate opens a new scene. "status" shows the sessions that are \
            connected.
            """)
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(
        help: "activate, background, disconnect or discard.",
        completion: .list(Control.SceneAction.allCases.map(\.rawValue)))
    var action: SceneWord
    @Argument(help: "The scene's session.") var session: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    struct SceneWord: ExpressibleByArgument {
        let action: Control.SceneAction
        init?(argument: String) {
            guard let action = Control.SceneAction(rawValue: argument) else { return nil }
            self.action = action
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(
            .application(
                .scene(app: try client.resolve(app), action.action, session: session)))
        if output.json {
            console.write(Report.json(reply))
        } else if case .changed(let changed) = reply {
            console.line("instance \(changed.instance): \(changed.state.words)")
        }
        return 0
    }
}
