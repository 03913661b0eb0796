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

    private var placeholder: String { "\(hooks)/\(runtime.rawValue)/placeholder" }

    /// The words that are executed: the launch's up to its program, the hook's, and the placeholder
    /// in the program's place.
    var words: [String] {
        switch runtime {
        case .python: command.boot + [placeholder]
        case .node: command.boot + ["-r", "\(hooks)/node/greenroom.cjs", placeholder]
        case .ruby: command.boot + ["-r", "\(hooks)/ruby/greenroom.rb", placeholder]
        case .perl: command.boot + ["-I\(hooks)/perl", "-MGreenroom", placeholder]
        // The machine looks at the program's class before the pause, and not at its arguments.
        case .java:
            command.boot.prefix(1) + ["-agentpath:\(hooks)/libgreenroom-jvm.so"]
                + command.boot.dropFirst() + javaProgram
        case .r: command.boot + ["--no-echo", "--no-restore", "--file=\(placeholder)"]
        case .emacs:
            command.boot.prefix(1) + ["-Q", "-batch", "-l", "\(hooks)/emacs/greenroom.el"]
                + [placeholder]
        }
    }

    /// `-jar FILE`, or the name of a class.
    private var javaProgram: ArraySlice<String> {
        command.program.prefix(command.program.first == "-jar" ? 2 : 1)
    }

    /// The words of a process that inspects imports (`python/inspect_imports.py`), whose names it
    /// reads from its standard input.
    var inspection: [String] {
        command.boot + [
            "-S", "\(hooks)/python/inspect_imports.py", "-", "\(hooks)/libgreenroom-inspect.so",
        ]
    }

    /// The variable that names the socket to which the hook sends what the launch has imported.
    static let recordName = "GREENROOM_RECORD"

    /// The environment of the prewarm, which is to have `variables`.
    func environment(_ variables: [String]) -> [String] {
        var environment = variables
        func prepend(_ path: String, to name: String) {
            let prefix = name + "="
            let own = environment.first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count) ?? ""
            environment.removeAll { $0.hasPrefix(prefix) }
            environment.append(prefix + path + (own.isEmpty ? "" : ":" + own))
        }
        switch runtime {
        case .python: prepend("\(hooks)/python", to: "PYTHONPATH")
        case .r: environment.append("R_PROFILE_USER=\(hooks)/r/Rprofile.R")
        case .node, .ruby, .perl, .java, .emacs: break
        }
        if !imports.isEmpty {
            environment.append("GREENROOM_IMPORTS=" + imports.joined(separator: "\n"))
        }
        return environment
    }
}
