import ArgumentParser
import Glibc
import GreenroomControl

/// A verb that needs the daemon.
protocol Verb: ParsableCommand {
    var daemon: DaemonOptions { get }

    /// - Returns: the exit code.
    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32

    /// The exit code of a failure.
    func exitCode(of failure: Failure) -> Int32
}

extension Verb {
    func exitCode(of failure: Failure) -> Int32 { failure.exitCode }

    /// Connects, performs the verb, and reports a failure.
    func execute(_ console: any Console) -> Int32 {
        do throws(Failure) {
            let client = try ControlClient.usual(option: daemon.socket, daemon.whose)
            return try perform(client, console)
        } catch {
            console.complain(error.description)
            return exitCode(of: error)
        }
    }

    /// Calls `body` for each app that the words mean. A failure is reported, and the other apps
    /// follow nevertheless.
    ///
    /// - Parameter isMeant: whether a pattern means the app; a name always does.
    func forEach(
        _ words: [String], _ client: ControlClient, _ console: any Console,
        where isMeant: (Control.AppSummary) -> Bool = { _ in true },
        _ body: (String) throws(Failure) -> Void
    ) -> Int32 {
        var code: Int32 = 0
        func attempt(_ work: () throws(Failure) -> Void) {
            do throws(Failure) { try work() } catch {
                console.complain(error.description)
                code = exitCode(of: error)
            }
        }
        for word in words {
            attempt { () throws(Failure) in
                for app in try client.apps(meantBy: word, where: isMeant) {
                    attempt { () throws(Failure) in try body(app) }
                }
            }
        }
        return code
    }

    mutating func run() throws {
        Caller.fillStandardDescriptors()
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }
}

/// The options of every verb that needs the daemon.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's socket. Default: $GREENROOM_SOCKET, else your daemon's, else the system's.",
            valueName: "path"), completion: .file())
    var socket: String?

    @Flag(exclusivity: .exclusive)
    var whose: DaemonOwner?

    mutating func validate() throws {
        guard socket == nil || whose == nil else {
            throw ValidationError("Give either --socket or one of --user and --system.")
        }
    }

    /// The path of the socket.
    var path: String { SocketPath.find(option: socket, whose) }
}

/// Whose daemon is meant, as for systemctl(1).
enum DaemonOwner: String, EnumerableFlag {
    case user, system

    static func help(for value: DaemonOwner) -> ArgumentHelp? {
        switch value {
        case .user: "Your own daemon."
        case .system: "The system's daemon."
        }
    }
}

/// The options of verbs with output.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON: the reply's parameters as greenroomd sent them.")
    var json = false
}

/// The options of verbs with tables and colours.
struct DisplayOptions: ParsableArguments {
    enum Color: String, ExpressibleByArgument, CaseIterable {
        case auto, always, never
    }

    @Flag(name: [.customShort("l"), .long], help: "Do not shorten lines to fit the terminal.")
    var full = false

    @Option(
        help: ArgumentHelp(
            "Colours: on a terminal that has them, always, or never.",
            valueName: "when"))
    var color = Color.auto

    func appearance(on console: any Console) -> Appearance {
        var appearance = console.appearance
        if full { appearance.columns = nil }
        switch color {
        case .auto: break
        case .always: appearance.isColored = true
        case .never: appearance.isColored = false
        }
        return appearance
    }
}

/// Instances: the most recently used one of each app, or the one with a number.
struct TargetOptions: ParsableArguments {
    @Argument(
        help: "The apps, or patterns; each app's most recently used running instance is meant.",
        completion: Candidates.apps)
    var apps: [String] = []

    @Option(
        help: ArgumentHelp("The instance, by number.", valueName: "number"),
        completion: Candidates.instances)
    var instance: UInt64?

    mutating func validate() throws {
        guard apps.isEmpty != (instance == nil) else {
            throw ValidationError(
                apps.isEmpty
                    ? "Name an app, or an instance with --instance."
                    : "Name an app, or an instance with --instance, not both.")
        }
        guard instance ?? 0 <= UInt64(Int64.max) else {
            throw ValidationError("There is no instance with that number.")
        }
    }
}
