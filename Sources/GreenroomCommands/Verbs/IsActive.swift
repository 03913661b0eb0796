import ArgumentParser
import GreenroomControl

struct IsActive: Verb {
    static let configuration = CommandConfiguration(
        commandName: "is-active",
        abstract: "Say whether apps run: exit code 0 if one of them does, 3 if none.")

    @Argument(help: "The apps, or patterns.", completion: Candidates.apps)
    var apps: [String]

    @Flag(name: .shortAndLong, help: "Print nothing.")
    var quiet = false

    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        var isActive = false
        let code = forEach(apps, client, console) { app throws(Failure) in
            let running = try client.running(app)
            var word = "inactive"
            if running.contains(where: { $0.state != .known(.launching) }) {
                word = "active"
                isActive = true
            } else if !running.isEmpty {
                word = "activating"
            } else if case .explained(let why) = try client.call(.explain(app: app)),
                why.supervision?.failed != nil
            {
                word = "failed"
            }
            if !quiet { console.line(word) }
        }
        return isActive ? 0 : code != 0 ? code : ExitStatus.notActive.rawValue
    }
}
