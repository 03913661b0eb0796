import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport

extension KitApp {
    /// The probe that carries out orders in notifications.
    static func tasks(
        prewarm: Int = 0, run: String = "complete", heeds: Bool = true, grace: String = "100ms"
    ) -> KitApp {
        var app = KitApp(prewarm: prewarm)
        app.delegate = "tasks"
        app.lines = ["BackgroundGraceSec=\(grace)"]
        app.environment = ["PROBE_RUN=\(run)", "PROBE_HEED=\(heeds ? "yes" : "no")"]
        let identifiers = ["refresh", "other", "clean"] + (1...11).map { "work\($0)" }
        app.application = [
            "RemoteNotifications=yes", "ScheduledTasks=\(identifiers.joined(separator: " "))",
        ]
        return app
    }
}

extension KitDaemon {
    /// Tells the app to do something, and waits until it says so.
    func tell(_ words: String, _ answer: String? = nil) throws {
        _ = try daemon.client().handled(
            .notify(app: app.identifier, payload: words, response: nil))
        if let answer { try hear(answer) }
    }

    /// Waits until the app has said the line this many times.
    func hear(_ line: String, times count: Int = 1) throws {
        try awaitChange(in: daemon.directory.path + "/", "“\(line)”") {
            said.count(where: { $0 == line }) >= count
        }
    }

    func tasks() throws -> [Control.ScheduledTask] {
        guard case .tasks(let tasks) = try daemon.client().call(.task(.list(app: app.identifier)))
        else { throw TestError("another reply") }
        return tasks
    }

    @discardableResult
    func runTask(_ identifier: String) throws -> Control.Changed {
        let reply = try daemon.client().call(
            .task(.run(app: app.identifier, identifier: identifier)))
        guard case .changed(let changed) = reply else { throw TestError("another reply") }
        return changed
    }

    func expireTask() throws {
        _ = try daemon.client().call(.task(.expire(app: app.identifier)))
    }

    /// From now on reads the log of this instance, which the daemon launched by itself.
    func adopt(_ instance: UInt64) throws {
        try follow(instance, pid: daemon.client().instance(instance).processId ?? 0)
    }
}

extension EventWatcher {
    /// Waits for the end of a run.
    func awaitOutcome(_ task: String) throws -> Control.TaskOutcome? {
        try next { $0.kind == .taskEnded && $0.task == task }.outcome?.known
    }
}
