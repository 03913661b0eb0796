import ArgumentParser
import Glibc

struct Conformance: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Put an app made with any SDK through the rules of the app channel.",
        usage: """
            greenroomctl conformance [--only <number>]... [--timeout <seconds>] [--show-output] \
            -- <command> [<argument>...]
            greenroomctl conformance --list
            """,
        discussion: """
            Speaks the channel as the daemon does; needs no daemon. Each check runs the command anew, \
            prewarmed or cold. Prints TAP; exit code 1 if a check fails.

            What an app takes no part in is skipped: to be checked with background tasks and \
            scheduled work, it begins a task when it is opened with the URL conformance:begin, \
            and submits a request with conformance:submit.
            """)

    @Argument(
        parsing: .postTerminator, help: "The app's command line, after \"--\".",
        completion: .file())
    var command: [String] = []

    @Option(
        help: ArgumentHelp("Only the check of this number; may be repeated.", valueName: "number"))
    var only: [Int] = []

    @Option(
        help: ArgumentHelp(
            "How long the app may take for each answer. Default: 10.", valueName: "seconds"))
    var timeout: Int32 = 10

    @Flag(help: "Show what the app writes, on standard error.")
    var showOutput = false

    @Flag(help: "Print the checks and do nothing.")
    var list = false

    mutating func validate() throws {
        let count = ConformanceCheck.all.count
        if let wrong = only.first(where: { !(1...count ~= $0) }) {
            throw ValidationError("There is no check \(wrong); they are 1 to \(count).")
        }
        guard 1...3600 ~= timeout else {
            throw ValidationError("--timeout takes 1 to 3600 seconds.")
        }
        guard list || !command.isEmpty else {
            throw ValidationError("Name the app's command line after \"--\".")
        }
    }

    func run() throws {
        Caller.fillStandardDescriptors()
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }

    func execute(_ console: any Console) -> Int32 {
        if list {
            for (index, check) in ConformanceCheck.all.enumerated() {
                console.line("\(index + 1) \(check.name)")
            }
            return 0
        }
        guard let bench = ConformanceBench(command, timeout: timeout, showsOutput: showOutput)
        else {
            console.complain("there is no program \(command[0])")
            return 1
        }
        let wanted = ConformanceCheck.all.enumerated().filter {
            only.isEmpty || only.contains($0.offset + 1)
        }
        console.line("1..\(wanted.count)")
        var failures = 0
        var skips = 0
        for (number, entry) in wanted.enumerated() {
            let (index, check) = entry
            do throws(ConformanceFault) {
                try check.body(bench)
                console.line("ok \(number + 1) - \(index + 1) \(check.name)")
            } catch  where error.isSkip {
                skips += 1
                console.line("ok \(number + 1) - \(index + 1) \(check.name) # SKIP \(error.words)")
            } catch {
                failures += 1
                console.line("not ok \(number + 1) - \(index + 1) \(check.name)")
                console.line("# \(error.words)")
            }
        }
        if failures > 0 { console.line("# \(failures) of \(wanted.count) checks failed") }
        if skips > 0 { console.line("# \(skips) checks are about what it took no part in") }
        return failures > 0 ? 1 : 0
    }
}

/// What the client under test did against the rules, or why a check does not concern it.
struct ConformanceFault: Error {
    let words: String
    let isSkip: Bool
    init(_ words: String) {
        self.words = words
        isSkip = false
    }
    private init(skipping words: String) {
        self.words = words
        isSkip = true
    }

    /// Nobody has to keep state or to work in the background; who does has rules to heed.
    static func skip(_ why: String) -> ConformanceFault { ConformanceFault(skipping: why) }
}

/// One rule, and how it is tried out.
struct ConformanceCheck: Sendable {
    let name: String
    let body: @Sendable (ConformanceBench) throws(ConformanceFault) -> Void

    init(
        _ name: String,
        _ body: @escaping @Sendable (ConformanceBench) throws(ConformanceFault) -> Void
    ) {
        self.name = name
        self.body = body
    }

    /// Numbers are stable: new ones come at the end.
    static let all: [ConformanceCheck] =
        pausing + launching + living + refusing + restoring + background + credentials
}
