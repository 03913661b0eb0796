import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// Launches a desktop program again and again in several ways, in turns, with a screen, a message
/// bus and a home of its own. Observes what the program does before its window, and compares the
/// window.
struct WindowMeasurement {
    let kind: ScreenKind
    typealias Way = WindowTrial.Way

    private var ways = [AppManifest.Depth.none, .main, .libraries, .window].map { Way(depth: $0) }
    private var effects = SideEffects()
    private var faults: [String] = []

    var trial: WindowTrial { WindowTrial(kind: kind, ways: ways, effects: effects, faults: faults) }

    private let program: WindowProgram
    private let rounds: Int
    private let clock: SampleClock
    /// Declared before ``ground``, so that the daemon ends its apps before their surroundings are
    /// removed.
    private let daemon: PrivateDaemon
    private let client: ControlClient
    private let ground: WindowGround

    init(
        _ program: WindowProgram, on kind: ScreenKind, rounds: Int, clock: SampleClock
    ) throws(Failure) {
        self.program = program
        self.kind = kind
        self.rounds = rounds
        self.clock = clock
        let ground = try WindowGround(for: program, on: kind, clock: clock)
        self.ground = ground
        daemon = try PrivateDaemon(
            ways.map { ($0.app, Self.manifest(program, $0.depth, ground.variables)) },
            startsSession: true)
        client = try ControlClient(path: daemon.socket)
    }

    private static func manifest(
        _ program: WindowProgram, _ depth: AppManifest.Depth, _ variables: [String]
    ) -> String {
        let lines =
            ["[App]", "Exec=" + program.command.map(UnitFile.quoted).joined(separator: " ")]
            + (program.account.user == getuid() ? [] : ["User=\(program.account.user)"])
            // The last assignment of a name counts, so no variable of the app leads out of these
            // surroundings.
            + (program.variables + variables).map { "Environment=" + UnitFile.quoted($0) }
            + ["[Prewarm]", "Depth=\(depth.rawValue)", "When=never", "Count=1"]
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Rounds

    /// - Returns: false, and nothing is measured, if the program shows no window here.
    mutating func run(_ progress: (Int) -> Void) throws(Failure) -> Bool {
        // What a first start leaves in the home is not the held program's doing.
        guard try launch(0) != nil else { return false }
        try learnLibraries()
        guard let expected = try picture(of: 0) else {
            ways[ways.count - 1].objection = "its window was not seen at a second launch"
            return true
        }
        try look(expected)
        for round in 1...rounds {
            for step in ways.indices {
                let index = (step + round) % ways.count
                guard ways[index].objection == nil else { continue }
                if let time = try launch(index) { ways[index].times.append(time) }
            }
            progress(round)
        }
        return true
    }

    /// The daemon learns libraries from a launch, at which it looks for the last time after six
    /// seconds.
    private mutating func learnLibraries() throws(Failure) {
        guard let index = ways.firstIndex(where: { $0.depth == .libraries }) else { return }
        guard try prepare(index) != nil, try show(index) != nil else { return }
        let note = try awaitNote(ways[index].app, Self.lessonPatience) {
            $0.code == "libraries" ? $0 : nil
        }
        if note == nil {
            ways[index].objection =
                "it opened no libraries after main that may be opened before main"
        }
        try endAll(index)
    }

    /// Holds the program once, and checks its effects and its window.
    private mutating func look(_ expected: [UInt8]) throws(Failure) {
        let index = ways.count - 1
        let before = try ground.state()
        guard let held = try prepare(index) else { return }
        effects = try ground.effects(since: before, of: held.processId)
        if try !ground.isEmpty() {
            faults.append("something was on the screen while it was held")
            return try endAll(index)
        }
        guard try show(index) != nil else {
            faults.append("its window was not seen after the launch")
            return
        }
        if try !awaitPicture(expected) {
            faults.append("its window does not look as after a cold launch")
        }
        // The next instance is prepared while this one is used.
        try prepareNext(index)
        if try !awaitPicture(expected) {
            faults.append("the next instance, prepared beside it, changes what is on the screen")
        }
        try endAll(index)
    }

    /// - Returns: the time until the screen has changed; nil if it has not, or if no instance could be
    ///   prepared.
    private mutating func launch(_ index: Int) throws(Failure) -> UInt64? {
        guard try prepare(index) != nil, let time = try show(index) else { return nil }
        try endAll(index)
        return time
    }

    private mutating func picture(of index: Int) throws(Failure) -> [UInt8]? {
        guard try prepare(index) != nil, try show(index) != nil else { return nil }
        let picture = try settledPicture()
        try endAll(index)
        return picture
    }

    // MARK: Steps

    private static let windowPatience: UInt64 = 30_000_000_000
    private static let requestInterval: UInt64 = 500_000_000
    /// A program that has ended by then shows no window any more.
    private static let endedPatience: UInt64 = 2_000_000_000
    private static let lessonPatience: UInt64 = 10_000_000_000
    private static let picturePatience: UInt64 = 10_000_000_000
    /// Longer than the blinking of a cursor takes.
    private static let quietTime: UInt64 = 1_500_000_000

    /// Has an instance paused at the way's depth.
    /// - Returns: the instance; for the way without prewarming, an empty value; nil if the daemon
    ///   refuses.
    private mutating func prepare(_ index: Int) throws(Failure) -> Control.InstanceStatus? {
        let way = ways[index]
        guard way.depth != .none else {
            return .init(instance: 0, app: way.app, state: .notRunning, sinceTimestampUSec: 0)
        }
        guard way.objection == nil else { return nil }
        var refusal: String?
        var nextRequest: UInt64? = try paused(way) == nil ? 0 : nil
        clock.begin()
        while clock.elapsed < Self.windowPatience {
            if let time = nextRequest, clock.elapsed >= time {
                do throws(Failure) {
                    _ = try client.call(.prewarm(app: way.app, count: 1))
                    (nextRequest, refusal) = (nil, nil)
                } catch {
                    // For a window, the app's explanation has a better reason.
                    guard way.depth == .window else {
                        ways[index].objection = error.description
                        return nil
                    }
                    // The daemon waits before it prepares an app again whose launch failed.
                    refusal = error.description
                    nextRequest = clock.elapsed + Self.requestInterval
                }
            }
            if way.depth == .window, let note = try objection(to: way.app) {
                ways[index].objection = note
                return nil
            }
            if let paused = try paused(way) {
                ways[index].byteCount = paused.byteCount ?? ways[index].byteCount
                return paused
            }
            try clock.pause(milliseconds: 20)
        }
        ways[index].objection =
            "no instance was paused in time" + (refusal.map { ": " + $0 } ?? "")
        return nil
    }

    /// The instance that a launch would take; nil if it is not ready.
    private func paused(_ way: Way) throws(Failure) -> Control.InstanceStatus? {
        guard case .status(let instances) = try client.call(.status(.app(way.app))) else {
            return nil
        }
        return instances.first {
            $0.state == .prewarmed
                && (way.depth != .window
                    || ($0.depth == .known(.window) && $0.areThreadsFrozen == true))
        }
    }

    /// Has another instance prepared while one is used, as deep as possible.
    private func prepareNext(_ index: Int) throws(Failure) {
        let app = ways[index].app
        _ = try? client.call(.prewarm(app: app, count: 1))
        clock.begin()
        while clock.elapsed < Self.windowPatience {
            if case .status(let instances) = try client.call(.status(.app(app))),
                instances.contains(where: { $0.state == .prewarmed })
            {
                return
            }
            try clock.pause(milliseconds: 20)
        }
    }

    /// Why the app is not held at its window.
    private func objection(to app: String) throws(Failure) -> String? {
        guard case .explained(let explanation) = try client.call(.explain(app: app)) else {
            return nil
        }
        if !explanation.isEligible { return explanation.reasons.first?.text }
        // While an instance of the app runs, another one cannot have its bus name.
        return explanation.reasons.first {
            ($0.code.hasPrefix("depth_") && $0.code != "depth_name_taken")
                || $0.code.hasPrefix("window_") || $0.code == "no_withholding"
        }?.text
    }

    /// Launches the app, and waits until something is on the screen.
    ///
    /// - Returns: the time until then; nil if that does not happen, or if the launch was not served by
    ///   the instance that was prepared. That is counted, and the app is ended.
    private mutating func show(_ index: Int) throws(Failure) -> UInt64? {
        let way = ways[index]
        ways[index].launchCount += 1
        // Otherwise, what is there would be taken for the window.
        if try !ground.screen.showsWindow() {
            clock.begin()
            let reply = try client.call(.launch(Control.LaunchCall(app: way.app)))
            if case .launched(let launched) = reply,
                way.depth == .none || launched.kind.known == .prewarmed,
                let time = try awaitWindow(of: launched.instance, index)
            {
                return time
            }
        }
        ways[index].missCount += 1
        try endAll(index)
        return nil
    }

    /// - Returns: when it was seen; nil if the instance has ended before, or it takes too long.
    private func awaitWindow(of instance: UInt64, _ index: Int) throws(Failure) -> UInt64? {
        var nextLook = Self.endedPatience
        while try !ground.screen.showsWindow() {
            let elapsed = clock.elapsed
            guard elapsed < Self.windowPatience else { return nil }
            if elapsed >= nextLook {
                if try !running(index).contains(instance) { return nil }
                nextLook += Self.endedPatience
            }
            try clock.pause(milliseconds: 1)
        }
        return clock.elapsed
    }

    /// The instances of the app, also paused ones.
    private func running(_ index: Int) throws(Failure) -> [UInt64] {
        guard case .status(let instances) = try client.call(.status(.app(ways[index].app))) else {
            return []
        }
        return instances.filter { $0.state != .notRunning }.map(\.instance)
    }

    /// Kills all instances of the app, and waits until they are gone and nothing is on the screen.
    private func endAll(_ index: Int) throws(Failure) {
        for instance in try running(index) {
            _ = try? client.call(.transition(.kill, .instance(instance)))
        }
        clock.begin()
        while true {
            if try running(index).isEmpty, try !ground.screen.showsWindow() { return }
            guard clock.elapsed < Self.windowPatience else {
                throw WindowProgram.refusal(
                    "something stays on the screen after \(program.command[0]) was killed")
            }
            try clock.pause(milliseconds: 5)
        }
    }

    private func awaitNote(
        _ app: String, _ patience: UInt64, _ find: (Control.Note) -> Control.Note?
    ) throws(Failure) -> Control.Note? {
        clock.begin()
        while clock.elapsed < patience {
            guard case .explained(let explanation) = try client.call(.explain(app: app)) else {
                return nil
            }
            if let note = explanation.reasons.lazy.compactMap(find).first { return note }
            try clock.pause(milliseconds: 50)
        }
        return nil
    }

    // MARK: Pictures

    /// The picture when nothing but a cursor changes any more.
    private func settledPicture() throws(Failure) -> [UInt8] {
        var last = try ground.screen.picture()
        clock.begin()
        var since = clock.elapsed
        while clock.elapsed - since < Self.quietTime, clock.elapsed < Self.windowPatience {
            try clock.pause(milliseconds: 50)
            let picture = try ground.screen.picture()
            if PictureDifference.isSeen(picture, last)
                || !PictureDifference.isSeen(picture, ground.empty)
            {
                since = clock.elapsed
                last = picture
            }
        }
        return last
    }

    /// Whether the screen shows this picture within the time, and keeps showing it.
    private func awaitPicture(_ expected: [UInt8]) throws(Failure) -> Bool {
        clock.begin()
        var since: UInt64?
        while clock.elapsed < Self.picturePatience {
            if try ground.screen.differs(from: expected) {
                since = nil
            } else if let start = since {
                if clock.elapsed - start >= Self.quietTime { return true }
            } else {
                since = clock.elapsed
            }
            try clock.pause(milliseconds: 50)
        }
        return false
    }
}
