import AppFolders
import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Measure: ManifestVerb {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measure what prewarming saves for an app, at each depth.",
        usage: """
            greenroomctl measure <app> [--listening | --windows] [--rounds <number>] [--yes] [--apply] [--json] \
            [-- <argument>...]
            """,
        discussion: """
            Starts the app's program directly, through the daemon without prewarming, and prewarmed to \
            each depth, with and without what is learned from launches, in turns. Prints the times to the \
            first output and to the end, the memory of a paused instance, and a verdict. A private \
            daemon makes the launches, so the apps that run are left alone. For programs that end by \
            themselves; with --listening, for servers; with --windows, for desktop programs, which get a screen, a message bus and a \
            home of their own.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Argument(
        parsing: .postTerminator,
        help: "The program's arguments, after \"--\". Without any, you are asked first.")
    var arguments: [String] = []

    @Flag(
        help: "Measure the time to the first window, and whether it may be made before the launch.")
    var windows = false

    @Flag(help: "Measure the time until the program listens on a socket, and then end it.")
    var listening = false

    @Option(
        help: ArgumentHelp(
            "How many runs of each kind, 3 to 1000. Default: 11.", valueName: "number"))
    var rounds = 11

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    @Flag(help: "Write the depth into a drop-in of the app's manifest, if it pays.")
    var apply = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if windows, !arguments.isEmpty {
            throw ValidationError("A window is held without arguments; leave them out.")
        }
        if windows, listening {
            throw ValidationError("--windows and --listening are two measurements; choose one.")
        }
        guard 3...1000 ~= rounds else { throw ValidationError("--rounds takes 3 to 1000.") }
    }

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        if windows { return try measureWindows(manifests, console) }
        let name = try manifests.name(app)
        let program = try MeasuredProgram(name, arguments, manifests)
        guard yes || !arguments.isEmpty || Self.isAllowed(program.words, rounds * 5, console) else {
            return 1
        }
        let clock = try SampleClock()
        let contenders: [Contender]
        do throws(Failure) {
            contenders = try measure(program, clock, console)
        } catch {
            if let signal = clock.ending { Ending.die(by: signal) }
            throw error
        }
        let verdict = MeasureVerdict(
            direct: contenders[0], Array(contenders.dropFirst(2)), to: goal)
        let report = MeasureReport(
            contenders, verdict, to: goal, rounds: rounds, words: program.words)
        console.write(
            output.json ? Report.json(report) : report.text(display.appearance(on: console)))
        if apply { try write(verdict, of: name, manifests, console) }
        return 0
    }

    private var goal: MeasuredGoal { listening ? .listening : .end }

    private func measure(
        _ program: MeasuredProgram, _ clock: SampleClock, _ console: any Console
    ) throws(Failure) -> [Contender] {
        var measurement = try Measurement(program, to: goal, rounds: rounds, clock: clock)
        try measurement.run(showRound)
        endProgress()
        return measurement.contenders
    }

    private func measureWindows(
        _ manifests: InstalledManifests, _ console: any Console
    ) throws(Failure) -> Int32 {
        let program = try WindowProgram(app, manifests)
        var absences: [String] = []
        let kinds = try kinds(missing: &absences)
        let count = rounds * 4 * kinds.count
        guard yes || Self.isAllowed(program.command, count, console) else { return 1 }
        let clock = try SampleClock()
        let report: WindowReport
        do throws(Failure) {
            report = try measure(program, on: kinds, absences: absences, clock)
        } catch {
            if let signal = clock.ending { Ending.die(by: signal) }
            throw error
        }
        console.write(
            output.json ? Report.json(report) : report.text(display.appearance(on: console)))
        if apply { try write(report.verdict, of: program, manifests, console) }
        return 0
    }

    private func measure(
        _ program: WindowProgram, on kinds: [ScreenKind], absences: [String], _ clock: SampleClock
    ) throws(Failure) -> WindowReport {
        var trials: [WindowTrial] = []
        var absences = absences
        var firstFailure: Failure?
        for kind in kinds {
            var measurement: WindowMeasurement
            do throws(Failure) {
                measurement = try WindowMeasurement(
                    program, on: kind, rounds: rounds, clock: clock)
            } catch {
                if clock.interruption != nil { throw error }
                // What is measured on the other screen counts all the same.
                firstFailure = firstFailure ?? error
                absences.append(
                    "on \(kind.name), which could not be started: \(error.description.harmless)")
                continue
            }
            if try measurement.run(showRound) {
                trials.append(measurement.trial)
            } else {
                absences.append("on \(kind.name), where it showed no window")
            }
            endProgress()
        }
        guard !trials.isEmpty else {
            if let firstFailure { throw firstFailure }
            throw WindowProgram.refusal("\(program.command[0]) showed no window")
        }
        return WindowReport(
            trials: trials, absences: absences,
            verdict: WindowVerdict(
                trials, command: program.command, profiles: program.profiles), rounds: rounds,
            words: program.command)
    }

    /// The kinds of screens that this machine can make.
    /// - Parameter absences: gets the others, with what they need.
    private func kinds(missing absences: inout [String]) throws(Failure) -> [ScreenKind] {
        var kinds: [ScreenKind] = []
        var installations: [String] = []
        for kind in ScreenKind.allCases {
            let missing = kind.needs.filter { WindowGround.path(of: $0.program) == nil }
            guard let first = missing.first else {
                kinds.append(kind)
                continue
            }
            var packages: [String] = []
            for need in missing where !packages.contains(need.package) {
                packages.append(need.package)
            }
            let installation =
                "needs \(first.program) (in Debian, apt install "
                + "\(packages.joined(separator: " ")))"
            absences.append("on \(kind.name), which \(installation)")
            installations.append("\(kind.name) \(installation)")
        }
        guard !kinds.isEmpty else {
            throw WindowProgram.refusal(
                "a window is measured on a screen of its own, and none can be made: "
                    + installations.joined(separator: "; "))
        }
        return kinds
    }

    /// On a terminal, the line is written again and again; elsewhere nothing is shown.
    private var showsProgress: Bool { isatty(STDERR_FILENO) == 1 && !output.json }

    private func showRound(_ round: Int) {
        guard showsProgress else { return }
        StandardConsole().explain("\r\u{1B}[Kround \(round) of \(rounds)")
    }

    private func endProgress() {
        if showsProgress { StandardConsole().explain("\r\u{1B}[K") }
    }

    /// Asks on the terminal. Without a terminal, no program is run unless the user has said how.
    private static func isAllowed(
        _ words: [String], _ count: Int, _ console: any Console
    ) -> Bool {
        let command = words.map(\.harmless).joined(separator: " ")
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            console.complain(
                "this would run \"\(command)\" several times, without further arguments; give its "
                    + "arguments after \"--\", or --yes")
            return false
        }
        StandardConsole().explain(
            "Run \"\(command)\" about \(count) times, without further arguments? [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }

    /// A manifest that chooses a depth overrides profiles, so it gets a drop-in.
    private func write(
        _ verdict: WindowVerdict, of program: WindowProgram, _ manifests: InstalledManifests,
        _ console: any Console
    ) throws(Failure) {
        guard verdict.refusals.isEmpty else {
            console.complain("nothing is written, because the program is not to be held")
            return
        }
        if let objection = verdict.objection {
            console.complain("nothing is written, because \(objection)")
            return
        }
        let path: String
        let lines: [String]
        if let name = program.name {
            guard verdict.display == .any else {
                console.complain(
                    "nothing is written, because Depth=window in a manifest holds the program on "
                        + "Wayland, too, where it did not pass or a profile excludes it; a profile can "
                        + "hold it on X11 alone, if its manifest has no Depth=")
                return
            }
            path = "\(manifests.own)/\(name.file).d/measured.conf"
            lines = ["\(Self.mark) --windows", "[Prewarm]", "Depth=window"]
        } else {
            guard !verdict.lines.isEmpty else {
                console.complain(
                    "nothing is written, because profiles are only for programs without arguments; "
                        + "write a manifest with Depth=window")
                return
            }
            guard let folder = manifests.profileFolder else {
                throw .refused("no_profiles", "the daemon that answers reads no profiles")
            }
            path = "\(folder)/\(program.identifier)\(Profile.fileSuffix)"
            lines = ["\(Self.mark) --windows"] + verdict.lines
        }
        try write(lines.joined(separator: "\n") + "\n", to: path, manifests, console)
    }

    private func write(
        _ verdict: MeasureVerdict, of name: ManifestName, _ manifests: InstalledManifests,
        _ console: any Console
    ) throws(Failure) {
        guard case .depth(let depth) = verdict.choice else {
            console.complain("nothing is written, because no depth pays")
            return
        }
        let text = """
            \(Self.mark): \(verdict.reason)
            [Prewarm]
            Depth=\(depth.rawValue)

            """
        let path = "\(manifests.own)/\(name.file).d/measured.conf"
        try write(text, to: path, manifests, console)
    }

    /// The first line of each file that a measurement writes begins with this.
    private static let mark = "# greenroomctl measure"

    /// Writes a file, but not over one that is not from a measurement.
    private func write(
        _ text: String, to path: String, _ manifests: InstalledManifests, _ console: any Console
    ) throws(Failure) {
        do throws(SystemError) {
            guard try AppFile.source(path).bytes.starts(with: Self.mark.utf8) else {
                console.complain("nothing is written, because \(path) is not from a measurement")
                return
            }
        } catch {
            guard error.code == ENOENT else { throw .system(error) }
        }
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(path.directory)
            try AppFolderChange.write(Array(text.utf8), to: path)
        }
        var changes = FileChanges()
        changes.add(.written, path)
        manifests.reload(console)
        if !output.json { changes.report(console, json: false) }
    }
}

/// The program of an app, as it is started for a measurement.
struct MeasuredProgram {
    /// The program's absolute path, and the arguments in the manifest.
    let command: [String]
    /// The caller's arguments.
    let arguments: [String]
    var words: [String] { command + arguments }
    /// The caller's environment with that of the manifest.
    let environment: [String]
    /// The lines of the manifest that matter to a paused instance.
    let settings: (app: [String], prewarm: [String])
    /// Whether the manifest says what is imported before the pause.
    let hasImports: Bool
    /// The ways in which the program may be prewarmed, the least deep first.
    let ways: [Contender]

    init(
        _ name: ManifestName, _ arguments: [String], _ manifests: InstalledManifests
    ) throws(Failure) {
        let file = try manifests.file(name)
        let sources = try InstalledManifests.change { () throws(SystemError) in
            var read: [ManifestSource] = []
            for path in file.paths { read.append(try AppFile.source(path)) }
            return read
        }
        let (manifest, diagnostics) = manifests.read(sources, name)
        guard let manifest else {
            throw .manifest(.badManifest(diagnostics.map(\.description)))
        }
        guard manifest.kind == .program, let program = manifest.command.first else {
            throw Self.refusal(
                "only programs whose manifest has Exec= can be measured; metrics shows how long the "
                    + "others take")
        }
        if let user = manifest.user, (try? Account.named(user))?.user != getuid() {
            throw Self.refusal("the app runs as \(user); measure it as that user")
        }
        self.arguments = arguments
        let own = manifest.environment.map(\.description)
        let names = Set(manifest.environment.map(\.name))
        environment =
            Caller.environment().filter { !names.contains(String($0.prefix { $0 != "=" })) } + own
        let searchPath =
            environment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
            ?? ExecutableInspection.defaultSearchPath
        do throws(ExecutableError) {
            let path = try ExecutableInspection.find(program, in: searchPath)
            command = [path] + manifest.command.dropFirst()
        } catch {
            throw Self.refusal(error.description)
        }
        let prewarm = manifest.prewarm
        settings = (
            manifest.environment.map { "Environment=" + UnitFile.quoted($0.description) },
            ["Runtime=\(prewarm.runtime.rawValue)"]
                + prewarm.imports.map { "Imports=" + UnitFile.quoted($0) }
                + prewarm.importsExclude.map { "ImportsExclude=" + UnitFile.quoted($0) }
                + prewarm.environmentKeys.map { "EnvironmentKeys=" + $0 }
        )
        hasImports = !prewarm.imports.isEmpty
        // Before main, a program that pauses itself has not begun the work that it wants to do
        // early.
        if prewarm.depth == .declared {
            ways = [Contender("declared", app: "measure.declared", depth: .declared)]
            return
        }
        let learned = Contender(
            "learned", app: "measure.learned", depth: .runtime, lesson: .imports)
        ways =
            [
                Contender("main", app: "measure.main", depth: .main),
                Contender(
                    "libraries", app: "measure.libraries", depth: .libraries, lesson: .libraries),
                Contender("runtime", app: "measure.runtime", depth: .runtime),
            ] + (prewarm.learnsImports ? [learned] : [])
    }

    private static func refusal(_ reason: String) -> Failure {
        .control(.refused(code: "not_measurable", reason: reason))
    }
}
