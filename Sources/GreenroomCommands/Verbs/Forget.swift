import ArgumentParser
import GreenroomControl

struct Forget: Verb {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget what the daemon has learned about apps.",
        discussion: """
            The imports of an app are learned again from its next launch. To forget launches \
            in the history, use history --forget.
            """)

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

    @Flag(help: "What their launches import.")
    var imports = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard imports else { throw ValidationError("Say what to forget: --imports.") }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        forEach(apps, client, console) { app throws(Failure) in
            let reply = try client.call(.forgetImports(app: app))
            if output.json { console.write(Report.json(reply)) }
        }
    }
}
