import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport

/// A manifest for the probe, and the probe's log.
struct Probe {
    let identifier: String
    var scenes = ""
    var application: [String] = []
    var timer: [String] = []
    /// Whole sections.
    var sections: [String] = []
    var environment: [String] = []
    var lines: [String] = []
    var prewarm = 0

    init(_ identifier: String) { self.identifier = identifier }

    /// - Parameter directory: the daemon's folder, which contains the log.
    func install(in daemon: TestDaemon) throws {
        let variables = ["PROBE_LOG=\(log(in: daemon))"] + environment
        let text = """
            [App]
            Type=application-kit
            Exec=\(try Programs.applicationProbe)
            Environment=\(variables.joined(separator: " "))
            \(lines.joined(separator: "\n"))

            [Prewarm]
            Depth=\(prewarm > 0 ? "application-main" : "none")
            Count=\(prewarm)

            [Application]
            \(scenes)
            \(application.joined(separator: "\n"))

            [Timer]
            \(timer.joined(separator: "\n"))

            \(sections.joined(separator: "\n"))

            """
        try daemon.directory.write(text, to: "apps/\(identifier).app")
    }

    func log(in daemon: TestDaemon) -> String { daemon.directory.path + "/\(identifier).log" }

    /// The messages that the app got, in order.
    func told(in daemon: TestDaemon) -> [String] {
        let bytes = (try? readFile(log(in: daemon))) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

extension TestDaemon {
    /// A daemon with these probes installed.
    static func with(
        _ probes: Probe..., configuration: [String] = [], environment: [String] = []
    ) throws -> TestDaemon {
        var options = Options()
        options.environment = environment
        options.configuration = configuration
        let daemon = try TestDaemon([], options)
        for probe in probes { try probe.install(in: daemon) }
        _ = try daemon.client().reload()
        return daemon
    }

    /// Returns when the instance is in the state.
    func awaitState(_ state: Control.ExecutionState, of instance: UInt64) throws {
        try self.await("\(instance) to be \(state)") { client in
            try client.instance(instance).state == state ? true : nil
        }
    }
}

extension TestClient {
    func ask(_ call: Control.ApplicationCall) throws -> ControlReply {
        try self.call(.application(call))
    }

    func handled(_ call: Control.ApplicationCall) throws -> (app: String, Control.Launched) {
        guard case .handled(let app, let launched) = try ask(call) else {
            throw TestError("another reply")
        }
        return (app, launched)
    }

    /// The code with which a call is refused.
    func refusal(_ call: Control.ApplicationCall) throws -> String {
        do {
            let reply = try ask(call)
            throw TestError("not refused: \(reply)")
        } catch let error as ControlError {
            guard case .refused(let code, _) = error else { throw error }
            return code
        }
    }
}
