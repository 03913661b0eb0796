import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomSupervisor

private let app = AppIdentifier("org.example.app")

@Suite struct `The file of scheduled work` {
    private let folder: TemporaryDirectory
    private let files: TaskFiles
    private var path: String { "\(folder.path)/state/tasks/org.example.app" }

    init() throws {
        folder = try TemporaryDirectory()
        files = TaskFiles(stateDirectory: folder.path + "/state")
    }

    private var tasks: AppTasks {
        var clean = ScheduledTask(identifier: "clean", kind: .processing)
        clean.earliestBegin = 1_700_000_000_000_000
        clean.requiresExternalPower = true
        clean.requiresNetworkConnectivity = true
        return AppTasks(
            requests: [clean, ScheduledTask(identifier: "refresh", kind: .appRefresh)],
            run: ScheduledRun(number: 7, identifier: "clean", kind: .processing))
    }

    private func read() -> (tasks: AppTasks, complaints: Int) {
        var complaints = 0
        let tasks = files.tasks(of: app) { _ in complaints += 1 }
        return (tasks, complaints)
    }

    @Test func `returns what was saved, and is gone when nothing is scheduled`() throws {
        #expect(read() == (AppTasks(), 0))
        try files.save(tasks, of: app)
        #expect(read() == (tasks, 0))
        try files.save(AppTasks(), of: app)
        #expect(access(path, F_OK) != 0)
    }

    @Test func `is read as far as it makes sense, with a complaint`() throws {
        try files.save(tasks, of: app)
        let text = try SmallFile.text(of: path)
        // The last line is incomplete: half a number is another number.
        try SmallFile.replace(path, with: String(text.dropLast(12)))
        #expect(read() == (AppTasks(requests: tasks.requests), 1))
        try SmallFile.replace(path, with: "nonsense\nrequest refresh refresh\n")
        #expect(read() == (AppTasks(requests: [tasks.requests[1]]), 1))
    }

    @Test func `schedules nothing twice, and no more than an app may`() throws {
        try files.save(tasks, of: app)
        let lines = (0..<40).map { "request refresh r\($0 / 2)\n" }
        try SmallFile.replace(path, with: lines.joined())
        #expect(read().tasks.requests.map(\.identifier) == ["r0"])
    }
}

@Suite struct `What a timer remembers` {
    private let folder: TemporaryDirectory
    private let memory: TimerMemory

    init() throws {
        folder = try TemporaryDirectory()
        memory = TimerMemory(
            stateDirectory: folder.path + "/state", runtimeDirectory: folder.path)
    }

    @Test func `is its last time on the calendar, which is never in the future`() {
        let now: Int64 = 1_700_000_000_123_456
        #expect(memory.lastElapse(of: app, now: now) == now)
        #expect(memory.lastElapse(of: app, now: now + 5_000_000) == now)
        memory.noteElapse(of: app, at: now + 3_000_000)
        #expect(memory.lastElapse(of: app, now: now + 5_000_000) == now + 3_000_000)
        // The clock was put back.
        #expect(memory.lastElapse(of: app, now: now) == now)
    }

    @Test func `is the deadline of its schedule, and of no other schedule`() {
        #expect(memory.deadline(of: app, schedule: "boot 5") == .unknown)
        memory.note(42, of: app, schedule: "boot 5")
        #expect(memory.deadline(of: app, schedule: "boot 5") == .at(42))
        #expect(memory.deadline(of: app, schedule: "boot 6") == .unknown)
        memory.note(nil, of: app, schedule: "boot 5")
        #expect(memory.deadline(of: app, schedule: "boot 5") == .over)
        memory.forget(app)
        #expect(memory.deadline(of: app, schedule: "boot 5") == .unknown)
    }
}

@Suite struct `The state that is kept of an app` {
    private let folder: TemporaryDirectory
    private let files: StateFiles
    private var path: String { "\(folder.path)/state/apps/org.example.app" }

    init() throws {
        folder = try TemporaryDirectory()
        files = StateFiles(stateDirectory: folder.path + "/state")
    }

    private let state = SavedState(
        AppArchive(AppContent.Activity("reading")), appVersion: "2", stateVersion: "1",
        savedAt: 9, user: 7)

    @Test func `is that of the app and of each session, and can be deleted`() throws {
        let session = SceneIdentifier(3)
        try files.keep(state, of: app, .application)
        try files.keep(state, of: app, session)
        try SmallFile.replace(path + "/scene-0", with: "not a session")
        #expect(files.archive(of: app, session) == state)
        #expect(Set(files.scenes(of: app)) == [.application, session])
        files.delete(session, of: app)
        #expect(files.archive(of: app, session) == nil)
        #expect(files.archive(of: app, .application) == state)
    }

    @Test(arguments: [0, 1, 20]) func `counts as missing if its file is torn`(length: Int) throws {
        try files.keep(state, of: app, .application)
        truncate(path + "/archive", length)
        #expect(files.archive(of: app, .application) == nil)
    }

    @Test func `includes the sessions and the versions, for the daemon's eyes only`() throws {
        var list = SessionList()
        #expect(files.sessions(of: app) == list && files.versions(of: app) == [])
        list.open = [SceneIdentifier(1), SceneIdentifier(4)]
        list.discarded = [SceneIdentifier(2)]
        list.last = 4
        try files.keep(list, of: app)
        for version in ["1", "2.1", "1"] { try files.note(version: version, of: app) }
        #expect(files.sessions(of: app) == list && files.versions(of: app) == ["1", "2.1"])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
}

@Suite struct `The users whose sessions are locked` {
    @Test func `are known to the next supervisor`() throws {
        let folder = try TemporaryDirectory()
        let locked = LockedUsers(runtimeDirectory: folder.path)
        #expect(locked.users.isEmpty)
        for user: UInt32 in [1000, 7] { try locked.note(user, isLocked: true) }
        try locked.note(1000, isLocked: false)
        #expect(LockedUsers(runtimeDirectory: folder.path).users == [7])
    }
}
