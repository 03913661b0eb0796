import GreenroomControl
import GreenroomLinux

/// Performs `greenroomctl run`, whichever parser has read its command line.
struct AttachedRun: Equatable {
    var app: String
    /// Variables as `NAME=VALUE`.
    var environment: [ByteString] = []
    var arguments: [ByteString] = []
    var socket: String?
    var terminalUse = TerminalUse.automatic

    /// Reads the plain form of the verb: `run APP`, `--env`, `--socket`, and arguments after `--`.
    ///
    /// An app that is launched in a tenth of a millisecond must not wait for the full parser, which
    /// takes several milliseconds. Everything else (help, abbreviations, errors) is left to the
    /// full parser.
    init?(plain words: some Collection<ByteString>) {
        var words = Array(words)[...]
        guard words.popFirst() == "run" else { return nil }
        var app: String?
        while let word = words.popFirst()?.text {
            switch word {
            case "--":
                arguments = Array(words)
                words = []
            case "--env":
                guard let value = words.popFirst() else { return nil }
                environment.append(value)
            case "--pty": terminalUse = .always
            case "--pipe": terminalUse = .never
            case "--socket":
                guard let value = words.popFirst()?.text, socket == nil else { return nil }
                socket = value
            case _:
                guard app == nil, !word.isEmpty, !word.hasPrefix("-") else { return nil }
                app = word
            }
        }
        guard words.isEmpty else { return nil }
        guard let app, Self.variables(environment) != nil else { return nil }
        self.app = app
    }

    init(
        app: String, environment: [ByteString], arguments: [ByteString], socket: String?,
        terminalUse: TerminalUse = .automatic
    ) {
        self.terminalUse = terminalUse
        self.app = app
        self.environment = environment
        self.arguments = arguments
        self.socket = socket
    }

    /// Runs the app, and ends in the same way as the app.
    /// - Returns: the exit code.
    func execute(_ console: any Console) -> Int32 {
        let inheritance = Inheritance.own
        Caller.fillStandardDescriptors()
        do throws(Failure) {
            let client = try ControlClient.usual(option: socket)
            return try perform(client, console, inheritance)
        } catch {
            console.complain(error.description)
            return error.attachedExitCode
        }
    }

    func perform(
        _ client: ControlClient, _ console: any Console, _ inheritance: Inheritance
    ) throws(Failure) -> Int32 {
        var call = Control.LaunchCall(
            repeatable: try client.resolve(app), environment: Self.variables(environment) ?? [],
            arguments: arguments)
        let signals: SignalDescriptor
        var terminal: AppTerminal?
        let plan = try TerminalPlan(terminalUse)
        do throws(SystemError) {
            signals = try SignalDescriptor(Caller.watchedSignals)
            if let plan { terminal = try AppTerminal(plan) }
        } catch {
            throw .system(error)
        }
        let descriptors = try Caller.attach(to: &call, terminal, inheritance)
        defer { terminal?.restore() }
        terminal?.takeFront()
        let (following, _) = try FollowedLaunch.begin(
            client, call, descriptors: descriptors, signals: signals, terminal: terminal)
        let exited = try following.waitForExit()
        terminal?.finish()
        return Ending(exited.exit).take(console)
    }

    /// Nil if a word is not `NAME=VALUE`, or if a name occurs twice.
    static func variables(_ assignments: [ByteString]) -> [Control.EnvironmentVariable]? {
        var variables: [Control.EnvironmentVariable] = []
        for assignment in assignments {
            guard let variable = Control.EnvironmentVariable(assignment: assignment),
                !variables.contains(where: { $0.name == variable.name })
            else { return nil }
            variables.append(variable)
        }
        return variables
    }
}

extension Control.LaunchCall {
    /// Creates a call with a launch identifier, so that it can be repeated after a lost connection
    /// without launching twice.
    init(
        repeatable app: String, environment: [Control.EnvironmentVariable],
        arguments: [ByteString]
    ) {
        self.init(app: app)
        self.arguments = arguments
        self.environment = environment
        var random = SystemRandomNumberGenerator()
        launchIdentifier =
            String(random.next(), radix: 36) + "-" + String(random.next(), radix: 36)
    }
}
