import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// Starts a program again and again in several ways, in turn, so that other work of the machine
/// affects all of them alike.
///
/// A private daemon launches the program. So the machine's daemon and its pools are left alone, and
/// each way has an app of its own. That app's manifest has only the program, its environment, the
/// depth, and the keys of [Prewarm] that matter to a paused instance. Sockets, limits and the
/// sandbox of the program's own manifest are not measured.
struct Measurement {
    let words: [String]
    private let arguments: [String]
    let rounds: Int
    private let goal: MeasuredGoal
    private(set) var contenders: [Contender]
    private let daemon: PrivateDaemon
    private let client: ControlClient
    private let clock: SampleClock
    private let environment: [String]

    init(
        _ program: MeasuredProgram, to goal: MeasuredGoal, rounds: Int, clock: SampleClock
    ) throws(Failure) {
        words = program.words
        arguments = program.arguments
        environment = program.environment
        self.rounds = rounds
        self.goal = goal
        self.clock = clock
        contenders =
            [Contender("direct"), Contender("cold", app: "measure.cold")] + program.ways
        daemon = try PrivateDaemon(
            contenders.compactMap { contender in
                contender.app.map { ($0, Self.manifest(program, contender)) }
            })
        client = try ControlClient(path: daemon.socket)
    }

    private static func manifest(_ program: MeasuredProgram, _ contender: Contender) -> String {
        let depth = contender.depth
        let lines =
            ["[App]", "Exec=" + program.command.map(UnitFile.quoted).joined(separator: " ")]
            + program.settings.app
            + ["[Prewarm]", "Depth=\((depth ?? .none).rawValue)", "When=never", "Count=1"]
            + (depth == nil ? [] : program.settings.prewarm)
            + (depth == .runtime && contender.lesson == nil && !program.hasImports
                ? ["Imports=none"] : [])
        return lines.joined(separator: "\n") + "\n"
    }

    /// Does all rounds.
    /// - Parameter progress: called after each round with its number.
    mutating func run(_ progress: (Int) -> Void) throws(Failure) {
        for index in contenders.indices { try learn(index) }
        for round in 1...rounds {
            // Each run leaves traces in the caches for the next one, so the order rotates.
            for step in contenders.indices {
                let index = (step + round) % contenders.count
                if contenders[index].objection == nil {
                    contenders[index].samples.append(try sample(index))
                }
            }
            progress(round)
        }
        noteDropped()
    }

    /// The first run of each way is not counted: it reads the program's files, and shows the daemon
    /// the caller's environment.
    private mutating func learn(_ index: Int) throws(Failure) {
        if let app = contenders[index].app, let depth = contenders[index].depth {
            contenders[index].objection = try objection(to: app, depth)
        }
        guard contenders[index].objection == nil else { return }
        let first = try sample(index, counts: false)
        guard let app = contenders[index].app, let lesson = contenders[index].lesson else { return }
        switch lesson {
        case .imports: contenders[index].objection = try awaitImports(app)
        case .libraries:
            contenders[index].objection = try awaitLibraries(index, app, of: first)
        }
    }

    // MARK: Lessons

    /// A busy machine takes some seconds for an inspection. Nothing is learned from a program that
    /// is killed or executes another one, and nothing reports that.
    private static let inspectionPatience: UInt64 = 20_000_000_000
    /// The daemon first looks at a program's libraries 25 ms after the launch, and then at doubling
    /// intervals (`LibraryLearner`).
    private static let firstLook: UInt64 = 25_000_000
    /// At most this many launches are made for the daemon to look at.
    private static let lessonCount = 3

    /// Waits until the app has a list of imports.
    /// - Returns: why it gets none; nil if it has one.
    private func awaitImports(_ app: String) throws(Failure) -> String? {
        let note = try awaitReason(of: app, Self.inspectionPatience) { reasons in
            let note = reasons.first { $0.code.hasPrefix("imports_") }
            if note?.code == "imports_unlearned" || note?.code == "imports_preparing" {
                return nil
            }
            return note ?? .init(code: "", text: "imports are not learned from its launches")
        }
        if note?.code == "imports_learned" { return nil }
        return note?.text ?? "its imports were not learned in time"
    }

    /// Waits until the daemon has seen libraries that the program opens after main.
    /// - Returns: why there are none; nil if there are some.
    private mutating func awaitLibraries(
        _ index: Int, _ app: String, of first: Sample
    ) throws(Failure) -> String? {
        var time = first.goal
        for count in 1...Self.lessonCount {
            // The daemon notices the program's end when it looks next, which is within this time if
            // the program ends soon after its goal.
            let note = try awaitReason(of: app, 2 * (time + Self.firstLook)) { reasons in
                reasons.first { $0.code == "libraries" }
            }
            if note != nil { return nil }
            if count < Self.lessonCount { time = try sample(index, counts: false).goal }
        }
        return "it opened no libraries after main that may be opened before main"
    }

    /// Reads the reasons of the app's explanation until `find` finds one, or the time is over.
    private func awaitReason(
        of app: String, _ patience: UInt64, _ find: ([Control.Note]) -> Control.Note?
    ) throws(Failure) -> Control.Note? {
        clock.begin()
        while clock.elapsed < patience {
            guard case .explained(let explanation) = try client.call(.explain(app: app)) else {
                return nil
            }
            if let note = find(explanation.reasons) { return note }
            try clock.pause(milliseconds: 20)
        }
        return nil
    }

    /// The daemon gives up a depth that saves nothing. The runs after that were at another depth.
    private mutating func noteDropped() {
        for index in contenders.indices
        where contenders[index].lesson != nil && contenders[index].objection == nil {
            guard let app = contenders[index].app,
                case .explained(let explanation)? = try? client.call(.explain(app: app))
            else { continue }
            let dropped = explanation.reasons.first {
                $0.code == "imports_abandoned" || $0.code.hasPrefix("depth_")
            }
            contenders[index].objection = dropped?.text
        }
    }

    /// Why the app is not prewarmed to the depth that its manifest names.
    private func objection(
        to app: String, _ depth: AppManifest.Depth
    ) throws(Failure) -> String? {
        guard case .explained(let explanation) = try client.call(.explain(app: app)) else {
            return "the daemon does not explain it"
        }
        // The private daemon prewarms only when it is asked to.
        let reasons = explanation.reasons.filter { $0.code != "disabled" }
        if !explanation.isEligible { return reasons.first?.text ?? "not for this program" }
        return depth == .runtime
            ? reasons.first { Self.runtimeObjections.contains($0.code) }?.text : nil
    }

    /// The codes of the reasons against pausing an interpreter after its boot.
    private static let runtimeObjections: Set<String> = [
        "no_runtime", "runtime_variable", "runtime_command", "runtime_front_end",
        "no_runtime_files",
    ]

    private mutating func sample(_ index: Int, counts: Bool = true) throws(Failure) -> Sample {
        guard let app = contenders[index].app else { return try direct() }
        let isPrewarmed = contenders[index].depth != nil
        if isPrewarmed { try prepare(index, app, counts: counts) }
        let pipe = try Self.system { () throws(SystemError) in try FileDescriptor.pipe() }
        let null = try Self.system { () throws(SystemError) in
            try FileDescriptor.open("/dev/null", O_RDWR)
        }
        var call = Control.LaunchCall(app: app)
        call.isAttached = true
        call.arguments = arguments.map(ByteString.text)
        call.callerEnvironment = environment.map(ByteString.text)
        (call.standardInput, call.standardOutput, call.standardError) = (0, 1, 0)
        let directory = try Self.system { () throws(SystemError) in
            try FileDescriptor.open("/proc/self/cwd", FileDescriptor.pathOnly | O_DIRECTORY)
        }
        call.workingDirectoryDescriptor = 2
        clock.begin()
        let reply = try client.call(
            .launch(call), descriptors: [null.rawValue, pipe.writing.rawValue, directory.rawValue])
        guard case .launched(let launched) = reply else { throw .unknown("another question") }
        let client = client
        let server = server(launched.processId) { (atOnce) throws(Failure) in
            // The daemon kills the program by itself after the grace.
            if atOnce { return }
            do throws(Failure) {
                _ = try client.call(.transition(.terminate, .instance(launched.instance)))
            } catch {
                // The program may have ended by itself.
                guard case .control(.notRunning) = error else { throw error }
            }
        }
        let (first, output) = try clock.read(pipe.reading, closing: pipe.writing, of: server)
        // A program may close its output long before it ends.
        let wait = ControlCall.wait(.instance(launched.instance))
        try client.send(wait)
        try clock.wait(for: client.descriptor)
        guard case .exited(let exited) = try client.reply(to: wait) else {
            throw .unknown("another question")
        }
        if counts, isPrewarmed, launched.kind.known != .prewarmed {
            contenders[index].missCount += 1
        }
        return Sample(
            firstOutput: first, goal: try time(server), output: output,
            exit: Ending(exited.exit))
    }

    /// Makes the daemon prewarm an instance for the next launch.
    private mutating func prepare(
        _ index: Int, _ app: String, counts: Bool
    ) throws(Failure) {
        let start = MonotonicClock.nanoseconds
        _ = try client.call(.prewarm(app: app, count: 1))
        let time = MonotonicClock.nanoseconds - start
        guard counts, case .status(let instances) = try client.call(.status(.app(app))) else {
            return
        }
        contenders[index].preparations.append(time)
        let paused = instances.first { $0.state == .prewarmed }
        contenders[index].byteCount = paused?.byteCount ?? contenders[index].byteCount
    }

    private func direct() throws(Failure) -> Sample {
        let pipe = try Self.system { () throws(SystemError) in try FileDescriptor.pipe() }
        clock.begin()
        let process = try Self.system { () throws(SystemError) in
            try MeasuredProcess.spawn(
                words[0], words, environment: environment, pipe: pipe.writing.rawValue,
                startsSession: goal == .listening)
        }
        let server = server(process) { (atOnce) in kill(-process, atOnce ? SIGKILL : SIGTERM) }
        let (first, output): (UInt64?, [UInt8])
        do throws(Failure) {
            (first, output) = try clock.read(pipe.reading, closing: pipe.writing, of: server)
            let descriptor = try Self.system { () throws(SystemError) in
                try ProcessDescriptor(pid: process).descriptor
            }
            try clock.wait(for: descriptor.rawValue)
        } catch {
            kill(goal == .listening ? -process : process, SIGKILL)
            _ = Self.end(of: process)
            throw error
        }
        // The children of a server may outlive it. Until it is reaped, the group has its number.
        if goal == .listening { kill(-process, SIGKILL) }
        let exit = Self.end(of: process)
        return Sample(
            firstOutput: first, goal: try time(server), output: output, exit: exit)
    }

    /// Waits for the process to have ended.
    private static func end(of process: pid_t) -> Ending {
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        // WIFEXITED and WEXITSTATUS (wait(2)) are macros.
        return status & 0x7f == 0 ? .status((status >> 8) & 0xff) : .signal(status & 0x7f)
    }

    /// The process's run, if servers are measured.
    private func server(
        _ process: Int32?, _ end: @escaping (_ atOnce: Bool) throws(Failure) -> Void
    ) -> ServerRun? {
        goal == .listening ? process.map { ServerRun($0, end: end) } : nil
    }

    /// The time to the goal, when the program has ended.
    private func time(_ server: ServerRun?) throws(Failure) -> UInt64 {
        guard goal == .listening else { return clock.elapsed }
        guard let time = server?.listening else {
            throw .control(
                .refused(
                    code: "not_measurable",
                    reason: "the program ended before it listened on a socket"))
        }
        return time
    }

    private static func system<T>(_ work: () throws(SystemError) -> T) throws(Failure) -> T {
        do throws(SystemError) { return try work() } catch { throw .system(error) }
    }
}
