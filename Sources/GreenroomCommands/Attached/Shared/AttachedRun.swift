import Glibc
import GreenroomControl

/// The command line of `greenroomctl run`, whichever parser has read it.
struct AttachedRun: Equatable {
    var app: String
    /// Variables as `NAME=VALUE`.
    var environment: [ByteString] = []
    var arguments: [ByteString] = []
    var socket: String?
    var terminalUse = TerminalUse.automatic
    /// Whether the app gets this process's standard streams and belongs to this process. Otherwise
    /// it is launched as by `greenroomctl launch`.
    var isAttached = true
    /// The launch that greenroom-run has begun.
    var begun: BegunLaunch?
    /// The command that is executed if the app was surely not launched; nil if that is an error.
    var substitute: [ByteString]?
    /// Whether the app has a manifest, which may confine it. The substitute, which nothing confines,
    /// is then executed only if this caller cannot have the app (`Failure.isOfUnreachableApp`).
    var isConfined = false

    /// The option for `isAttached == false`, which only programs use.
    static let launchOption = "--launch"

    /// The option after which the words behind `--` are a whole command. Its value, `BEFORE:AFTER`,
    /// says how many words of the command come before the app's arguments, and how many after them.
    /// Only programs use it.
    static let elseOption = "--else"

    /// The option for `isConfined`, which only programs use.
    static let confinedOption = "--confined"

    /// Reads the plain form of the verb: `run APP`, the options below, and arguments after `--`.
    ///
    /// An app that is launched in a tenth of a millisecond must not wait for the full parser, which
    /// takes several milliseconds. Everything else (help, abbreviations, errors) is left to the
    /// full parser.
    init?(plain words: some Collection<ByteString>) {
        var words = Array(words)[...]
        guard words.popFirst() == "run" else { return nil }
        var app: String?
        var around: (before: Int, after: Int)?
        while let next = words.popFirst() {
            guard let word = next.text else { return nil }
            switch word {
            case "--":
                arguments = Array(words)
                words = []
            case "--env":
                guard let value = words.popFirst() else { return nil }
                environment.append(value)
            case "--pty": terminalUse = .always
            case "--pipe": terminalUse = .never
            case Self.confinedOption: isConfined = true
            case Self.launchOption: (isAttached, terminalUse) = (false, .never)
            case "--socket":
                guard let value = words.popFirst()?.text, socket == nil else { return nil }
                socket = value
            case Self.elseOption:
                guard let value = words.popFirst()?.text, let counts = Self.counts(value) else {
                    return nil
                }
                around = counts
            case BegunLaunch.option:
                guard let value = words.popFirst()?.text, begun == nil,
                    let launch = BegunLaunch(value)
                else { return nil }
                begun = launch
            case _:
                guard app == nil, !word.isEmpty, !word.hasPrefix("-") else { return nil }
                app = word
            }
        }
        guard words.isEmpty else { return nil }
        guard let app, Self.variables(environment) != nil else { return nil }
        self.app = app
        if let around {
            guard around.before + around.after <= arguments.count else { return nil }
            substitute = arguments
            arguments = Array(arguments[around.before..<arguments.count - around.after])
        }
    }

    private static func counts(_ value: String) -> (before: Int, after: Int)? {
        let counts = value.split(separator: ":").map { Int32(String($0)) }
        guard counts.count == 2, let before = counts[0], let after = counts[1], before > 0,
            after >= 0
        else { return nil }
        return (Int(before), Int(after))
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

    /// The call, without what the app takes over from this process (`Inheritance`).
    ///
    /// - Parameter identifier: the app's full identifier.
    func call(of identifier: String) -> Control.LaunchCall {
        var call = Control.LaunchCall(
            repeatable: identifier, environment: Self.variables(environment) ?? [],
            arguments: arguments)
        call.isAttached = isAttached
        if let begun { call.launchIdentifier = begun.launchIdentifier }
        return call
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

/// Whether an attached app gets its own terminal. The names are those of systemd-run(1).
enum TerminalUse: Equatable {
    /// The app gets one if standard output is a terminal, or if standard input is one and the
    /// output goes to a file.
    case automatic
    /// `--pty`: the app gets one, for all three standard streams, whatever the caller's are.
    case always
    /// `--pipe`: the app gets the caller's descriptors.
    case never

    /// Whether this process's standard descriptors make it use the user's terminal, unless it is
    /// told otherwise. In a pipeline, another program may read the keys (`run x | less`), and keeps
    /// them.
    static var isInteractive: Bool {
        if isatty(1) == 1 { return true }
        var status = stat()
        guard isatty(0) == 1, unsafe fstat(1, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind != S_IFIFO && kind != S_IFSOCK
    }
}

extension Control.Word<Control.LaunchKind> {
    /// Whether an instance of another launch has served this one.
    var joinsRunningInstance: Bool { self == .known(.foreground) || self == .known(.resume) }
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
