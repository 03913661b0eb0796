import ArgumentParser
import Glibc

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
            let client = try ControlClient(path: SocketPath.find(option: daemon.socket))
            return try perform(client, console)
        } catch {
            console.complain(error.description)
            return exitCode(of: error)
        }
    }

    mutating func run() throws {
        _ = Inheritance.own
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

/// One instance: an app's most recently used one, or the one with a number.
struct TargetOptions: ParsableArguments {
    @Argument(
        help: "The app; its most recently used running instance is taken.",
        completion: Candidates.apps)
    var app: String?

    @Option(
        help: ArgumentHelp("The instance, by number.", valueName: "number"),
        completion: Candidates.instances)
    var instance: UInt64?

    mutating func validate() throws {
        guard (app == nil) != (instance == nil) else {
            throw ValidationError(
                app == nil
                    ? "Name an app, or an instance with --instance."
                    : "Name an app, or an instance with --instance, not both.")
        }
        guard instance ?? 0 <= UInt64(Int64.max) else {
            throw ValidationError("There is no instance with that number.")
        }
    }
}
