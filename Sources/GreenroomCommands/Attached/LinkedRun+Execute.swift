import GreenroomControl
import UnitFile

extension LinkedRun {
    /// - Returns: the exit code; the app's, if it ran.
    func execute(_ console: any Console) -> Int32 {
        guard Caller.mayEnterDirectory else {
            return executeElsewhere(
                because: "nobody else can enter this working directory", console)
        }
        let inheritance = Inheritance.own
        Caller.fillStandardDescriptors()
        do throws(Failure) {
            let client = try ControlClient.usual(option: nil)
            let listed: ControlReply
            do throws(Failure) { listed = try client.call(.list) } catch {
                // No launch was sent yet, so the program cannot run twice.
                guard case .disconnected = error else { throw error }
                return executeElsewhere(because: error.description, console)
            }
            guard case .listed(let apps) = listed else { throw .unknown("another question") }
            let app = try Self.app(called: name, among: apps + client.systemsApps(besides: apps))
            if let program = app.program, Self.isOurselves(program) {
                return executeElsewhere(
                    because:
                        "\(app.identifier) has this link as its program; its Exec= should name "
                        + "the real one", console)
            }
            let run = AttachedRun(
                app: app.identifier, environment: [], arguments: arguments, socket: nil)
            let started: StartedRun
            do throws(Failure) {
                started = try run.start(client, client.path, inheritance)
            } catch {
                // Signals that came during the failed launch take effect now.
                Caller.block(only: inheritance.blockedSignals)
                throw error
            }
            // From here on the app has run, so no error lets another program run.
            do throws(Failure) { return try started.end().take(console) } catch {
                console.complain(error.description)
                return error.attachedExitCode
            }
        } catch {
            if error.isOfUnreachableApp {
                return executeElsewhere(because: error.description, console)
            }
            console.complain(error.description)
            return error.attachedExitCode
        }
    }

    /// The app that the name of a link means.
    static func app(
        called name: String, among apps: [Control.AppSummary]
    ) throws(Failure) -> Control.AppSummary {
        let matches = AppNames.apps(called: name, among: apps)
        if matches.count == 1 { return matches[0] }
        if matches.count > 1 { throw .ambiguous(name, matches.map(\.identifier)) }
        throw .control(
            .noSuchApp(name, suggestion: Spelling.closest(to: name, among: apps.map(\.identifier))))
    }

    private func executeElsewhere(because reason: String, _ console: any Console) -> Int32 {
        guard let program = ProgramSearch(call).next else {
            console.complain(reason)
            console.complain("and no other program called \(name) comes later in PATH")
            return 127
        }
        return Caller.execute(
            [ByteString(name)] + arguments, at: program, because: reason, console)
    }
}
