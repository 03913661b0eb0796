/// How an interpreter is started for a prewarm, and what a launch tells it then.
struct RuntimeStart: Hashable, Sendable {
    let runtime: Runtime
    let command: RuntimeCommand
    /// The folder of the daemon's files.
    let hooks: String
    /// What the interpreter loads before the pause, in this order: lines for its hook.
    var imports: [String]
    /// The name of the process (`comm` in proc_pid_comm(5)), if it is not the interpreter's.
    let processName: String?
    /// The real path of the program that pauses, if the command executes others first: that of R,
    /// for Rscript(1).
    var executable: String?

    private var placeholder: String { "\(hooks)/\(runtime.rawValue)/placeholder" }

    /// The words that are executed: the launch's up to its program, the hook's, and the placeholder
    /// in the program's place.
    var words: [String] {
        switch runtime {
        case .python: command.boot + [placeholder]
        case .node: command.boot + ["-r", "\(hooks)/node/greenroom.cjs", placeholder]
        case .ruby: command.boot + ["-r", "\(hooks)/ruby/greenroom.rb", placeholder]
        case .perl: command.boot + ["-I\(hooks)/perl", "-MGreenroom", placeholder]
        case .java: wordsOfJava()
        case .r: wordsOfR(placeholder)
        case .emacs:
            command.boot.prefix(1) + ["-Q", "-batch", "-l", "\(hooks)/emacs/greenroom.el"]
                + [placeholder]
        }
    }

    private func wordsOfR(_ program: String) -> [String] {
        executable == nil
            ? command.boot + ["--no-echo", "--no-restore", "--file=\(program)"]
            : command.boot + [program]
    }

    /// The virtual machine looks at the program (`-jar FILE`, or the name of a class) before the
    /// pause, and not at its arguments.
    private func wordsOfJava(agentOptions: String = "") -> [String] {
        command.boot.prefix(1) + ["-agentpath:\(hooks)/libgreenroom-jvm.so" + agentOptions]
            + command.boot.dropFirst()
            + command.program.prefix(command.program.first == "-jar" ? 2 : 1)
    }

    /// The words of a process that inspects imports, whose names it reads from its standard input.
    ///
    /// - Parameter takesBeginning: whether those of Python and Node also read what the manifest's
    ///   script imports first.
    func inspection(takesBeginning: Bool = true) -> [String] {
        // The script that the manifest names, if it does.
        let script =
            takesBeginning ? command.program.prefix(1).filter { $0.hasPrefix("/") } : []
        return switch runtime {
        case .python:
            command.boot + [
                "-S", "\(hooks)/python/inspect_imports.py", "-",
                "\(hooks)/libgreenroom-inspect.so",
            ] + script
        case .perl: command.boot + ["\(hooks)/perl/inspect.pl"]
        case .ruby: command.boot + ["\(hooks)/ruby/inspect.rb"]
        case .r: wordsOfR("\(hooks)/r/inspect.R")
        case .node: command.boot + ["\(hooks)/node/inspect.cjs"] + script
        case .java: wordsOfJava(agentOptions: "=inspect")
        case .emacs: command.boot.prefix(1) + ["-Q", "-batch", "-l", "\(hooks)/emacs/inspect.el"]
        }
    }

    /// The files that the inspecting process is made of. Its findings are valid only with these
    /// files.
    var inspectionFiles: [String] {
        let names =
            switch runtime {
            case .python:
                ["inspect_imports", "module_state", "beginning"].map { "python/\($0).py" }
                    + ["libgreenroom-inspect.so"]
            case .perl: ["perl/inspect.pl"]
            case .ruby: ["ruby/inspect.rb"]
            case .r: ["r/inspect.R"]
            case .node:
                ["inspect", "learned", "beginning", "world", "requires", "callers"]
                    .map { "node/\($0).cjs" }
            case .java: ["libgreenroom-jvm.so"]
            case .emacs: ["emacs/inspect.el"]
            }
        return (names + (runtime.inspectionIsTraced ? ["libgreenroom-trace.so"] : []))
            .map { "\(hooks)/\($0)" }
    }

    /// The environment of the inspecting process, which is to have `variables`.
    func environmentOfInspection(_ variables: [String]) -> [String] {
        guard runtime.inspectionIsTraced else { return variables }
        var environment = Self.prepending(
            "\(hooks)/libgreenroom-trace.so", to: "LD_PRELOAD", in: variables)
        // R must not run anything that it does not run in a prewarm.
        if runtime == .r {
            environment += ["R_PROFILE_USER=\(placeholder)", "R_ENVIRON_USER="]
        }
        if let executable { environment.append("GREENROOM_TRACED=\(executable)") }
        return environment
    }

    /// The variable that names the socket to which the hook sends what the launch has imported.
    static let recordName = "GREENROOM_RECORD"

    /// The environment of the prewarm, which is to have `variables`.
    func environment(_ variables: [String]) -> [String] {
        var environment = variables
        switch runtime {
        case .python:
            environment = Self.prepending("\(hooks)/python", to: "PYTHONPATH", in: environment)
        // An empty name: R reads no .Renviron, neither in its directory nor at home. Another user may
        // have written the first, and both could replace the hook.
        case .r: environment += ["R_PROFILE_USER=\(hooks)/r/Rprofile.R", "R_ENVIRON_USER="]
        case .node, .ruby, .perl, .java, .emacs: break
        }
        if !imports.isEmpty {
            environment.append("GREENROOM_IMPORTS=" + imports.joined(separator: "\n"))
        }
        return environment
    }

    private static func prepending(
        _ path: String, to name: String, in environment: [String]
    ) -> [String] {
        let prefix = name + "="
        let own = environment.first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count) ?? ""
        return environment.filter { !$0.hasPrefix(prefix) }
            + [prefix + path + (own.isEmpty ? "" : ":" + own)]
    }
}
