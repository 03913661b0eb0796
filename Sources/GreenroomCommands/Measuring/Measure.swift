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
            greenroomctl measure <app> [--rounds <number>] [--yes] [--apply] [--json] \
            [-- <argument>...]
            """,
        discussion: """
            Starts the app's program directly, by the daemon without prewarming, and prewarmed to each \
            depth, with and without what launches teach, in turns. Prints the times to the first output and to the end, the memory of a paused \
            instance, and a verdict. The launches are made by a daemon of their own, so the apps that run \
            are left alone. For programs that end by themselves.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Argument(
        parsing: .postTerminator,
        help: "What the program is called with, after \"--\". Without it, you are asked first.")
    var arguments: [String] = []

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
        guard 3...1000 ~= rounds else { throw ValidationError("--rounds takes 3 to 1000.") }
    }

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        let name = try manifests.name(app)
        let program = try MeasuredProgram(name, arguments, manifests)
        guard yes || !arguments.isEmpty || Self.isAllowed(program, rounds, console) else {
            return 1
        }
        let clock = try SampleClock()
        let contenders: [Contender]
        do throws(Failure) {
            contenders = try measure(program, clock, console)
        } catch {
            if let signal = clock.interruption { Ending.die(by: signal) }
            throw error
        }
        let verdict = Verdict(direct: contenders[0], Array(contenders.dropFirst(2)))
        let report = MeasureReport(contenders, verdict, rounds: rounds, words: program.words)
        console.write(
            output.json ? Report.json(report) : report.text(display.appearance(on: console)))
        if apply { try write(verdict, of: name, manifests, console) }
        return 0
    }

    private func measure(
        _ program: MeasuredProgram, _ clock: SampleClock, _ console: any Console
    ) throws(Failure) -> [Contender] {
        var measurement = try Measurement(program, rounds: rounds, clock: clock)
        // On a terminal, the line is written again and again; elsewhere nothing is shown.
        let showsProgress = isatty(STDERR_FILENO) == 1 && !output.json
        try measurement.run { round in
            guard showsProgress else { return }
            StandardConsole().explain("\r\u{1B}[Kround \(round) of \(rounds)")
        }
        if showsProgress { StandardConsole().explain("\r\u{1B}[K") }
        return measurement.contenders
    }

    /// Asks on the terminal. Without one, nothing is run of which the user did not say how.
    private static func isAllowed(
        _ program: MeasuredProgram, _ rounds: Int, _ console: any Console
    ) -> Bool {
        let command = program.words.map(\.harmless).joined(separator: " ")
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            console.complain(
                "this would run \"\(command)\" several times, without further arguments; give its "
                    + "arguments after \"--\", or --yes")
            return false
        }
        StandardConsole().explain(
            "Run \"\(command)\" about \(rounds * 5) times, without further arguments? [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }

    private func write(
        _ verdict: Verdict, of name: ManifestName, _ manifests: InstalledManifests,
        _ console: any Console
    ) throws(Failure) {
        guard case .depth(let depth) = verdict.choice else {
            console.complain("nothing is written, because nothing pays")
            return
        }
        let folder = "\(manifests.own)/\(name.file).d"
        let path = folder + "/measured.conf"
        let text = """
            # greenroomctl measure: \(verdict.reason)
            [Prewarm]
            Depth=\(depth.rawValue)

            """
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(folder)
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
    /// Lines of the manifest that matter to a paused instance.
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
                "only programs can be measured whose manifest has Exec=; metrics shows how long the "
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
        // Before main, a program that pauses itself has done nothing of what it wants to do.
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
