import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport

/// A manifest for the probe that is made with ApplicationKit, and the lines that its processes
/// said.
struct KitApp {
    let identifier: String
    /// One of the probe's delegates.
    var delegate = "both"
    var prewarm = 0
    /// Lines of `[App]`, `[Prewarm]` and `[Application]`; `NAME=VALUE` of the environment.
    var lines: [String] = []
    var prewarmLines: [String] = []
    var application: [String] = []
    var environment: [String] = []

    /// How many paused instances a test asks for: a cold start and a prewarmed one.
    static let starts = [0, 1]

    init(_ identifier: String = "org.example.kit", prewarm: Int = 0) {
        self.identifier = identifier
        self.prewarm = prewarm
    }

    static func scenes(prewarm: Int = 0) -> KitApp {
        var app = KitApp(prewarm: prewarm)
        app.delegate = "scenes"
        app.application = ["Scenes=yes", "MultipleScenes=yes"]
        return app
    }

    func install(in daemon: TestDaemon) throws {
        let variables =
            // A sanitizer would report the calls of Swift's backtracer in a crashed app.
            ["PROBE_LOG=\(log(in: daemon))", "PROBE_DELEGATE=\(delegate)"]
            + ["SWIFT_BACKTRACE=enable=no"] + environment
        let text = """
            [App]
            Type=application-kit
            Exec=\(try Programs.built("application-kit-probe"))
            Environment=\(variables.map { "\"\($0)\"" }.joined(separator: " "))
            \(lines.joined(separator: "\n"))

            [Prewarm]
            Depth=\(prewarm > 0 ? "application-main" : "none")
            Count=\(prewarm)
            \(prewarmLines.joined(separator: "\n"))

            [Application]
            \(application.joined(separator: "\n"))

            """
        try daemon.directory.write(text, to: "apps/\(identifier).app")
    }

    private func log(in daemon: TestDaemon) -> String {
        daemon.directory.path + "/\(identifier).log"
    }

    /// The lines that one process said, in order.
    func said(_ pid: Int32, in daemon: TestDaemon) -> [String] {
        let bytes = (try? readFile("\(log(in: daemon)).\(pid)")) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The lines with which every launch of a delegate with both methods begins.
    static func beginning(_ options: String, _ state: String) -> [String] {
        [
            "main", "delegate", "willFinishLaunching \(options) \(state)",
            "didFinishLaunching \(options) \(state)", "didFinishLaunchingNotification \(options)",
        ]
    }
}

/// A daemon with one such app, and the process that it launched.
final class KitDaemon {
    let daemon: TestDaemon
    private(set) var app: KitApp
    private(set) var instance: UInt64 = 0
    private(set) var pid: Int32 = 0

    /// - Parameter isLocked: whether the session is locked before anything is prewarmed.
    init(
        _ app: KitApp, configuration: [String] = [], isLocked: Bool = false
    ) throws {
        self.app = app
        daemon = try TestDaemon.with(configuration: configuration)
        if isLocked { _ = try daemon.client().ask(.lock(user: nil)) }
        try app.install(in: daemon)
        _ = try daemon.client().reload()
        if app.prewarm > 0 { try daemon.awaitPaused(app.identifier) }
    }

    /// Installs another manifest.
    func reinstall(_ app: KitApp) throws {
        self.app = app
        try app.install(in: daemon)
        _ = try daemon.client().reload()
    }

    /// Launches the app without content, and waits for its first state.
    func launch(inBackground: Bool = false) throws {
        try launch(until: inBackground ? .background : .active, inBackground: inBackground)
    }

    func launch(until state: Control.ExecutionState, inBackground: Bool = false) throws {
        let launched = try daemon.client().launch(app.identifier) {
            $0.isBackground = inBackground
        }
        try note(launched, state)
    }

    func awaitState(_ state: Control.ExecutionState) throws {
        try daemon.awaitState(state, of: instance)
    }

    /// Makes a request, and waits for the state that follows.
    func ask(_ call: Control.ApplicationCall, _ state: Control.ExecutionState = .active) throws {
        let (name, launched) = try daemon.client().handled(call)
        guard name == app.identifier else { throw TestError("\(name) got it") }
        try note(launched, state)
    }

    private func note(_ launched: Control.Launched, _ state: Control.ExecutionState) throws {
        let isFirst = instance == 0
        instance = launched.instance
        try daemon.awaitState(state, of: instance)
        pid = try daemon.client().instance(instance).processId ?? 0
        guard isFirst else { return }
        let expected: Control.LaunchKind = app.prewarm > 0 ? .prewarmed : .cold
        guard launched.kind == expected else { throw TestError("launched \(launched.kind)") }
    }

    /// From now on, uses this instance.
    func follow(_ instance: UInt64, pid: Int32) {
        self.instance = instance
        self.pid = pid
    }

    @discardableResult
    func change(_ transition: Control.Transition) throws -> Control.Word<Control.ExecutionState> {
        try daemon.client().change(transition, instance)
    }

    /// The lines that the process has said so far.
    var said: [String] { app.said(pid, in: daemon) }

    /// Asks the app to end, and returns everything that it said.
    @discardableResult
    func end() throws -> [String] {
        try change(.terminate)
        return said
    }
}
