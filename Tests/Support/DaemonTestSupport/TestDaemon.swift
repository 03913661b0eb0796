import Glibc
public import GreenroomControl
import GreenroomLinux
public import TestSupport
import Testing

/// A private greenroomd with its own runtime directory, manifests and spawner. The daemon, the
/// spawner and every app end with the last reference, even if the test fails.
///
/// The daemons run without systemd: each starts its spawner itself, and the spawner outlives a
/// daemon that is killed.
public final class TestDaemon {
    /// The daemon's user, files and surroundings.
    public struct Options: Sendable {
        /// The daemon's user; nil means the test's own.
        public var user: Int32?
        /// Lines of `[Greenroom]`, the configuration.
        public var configuration: [String] = []
        /// Variables that are added to the daemon's environment.
        public var environment: [String] = []
        public var searchPath = "/usr/local/bin:/usr/bin:/bin"
        /// The soft limit on the daemon's open files; 0 means the test's own.
        public var openFileLimit: Int32 = 0
        /// Another program as the spawner, or another shim.
        public var spawner: String?
        public var shim: String?
        /// Another folder with the files that run in interpreters.
        public var runtimes: String?
        /// A second folder of manifests, `vendor`, after the first.
        public var vendorFolder = false
        /// A folder of desktop entries, `applications`.
        public var desktopFolder = false
        /// Further folders of desktop entries, after that one.
        public var otherDesktopFolders: [String] = []
        /// Profiles of desktop programs, by file name, in the folder `profiles`.
        public var profiles: [String: String] = [:]
        /// Whether a daemon with that folder knows a display.
        public var hasDisplay = true
        /// Whether the daemon reads load, memory and batteries from `machine/proc` and
        /// `machine/sys` in the test's folder, where a test may write what it wants.
        public var ownMachine = false
        /// Files of that folder to begin with, by path: `proc/loadavg`.
        public var machine: [String: String] = [:]
        public init() {}
        /// The daemon runs as nobody (65534), who may not make cgroups.
        public static var asNobody: Options {
            var options = Options()
            options.user = 65_534
            return options
        }
    }

    public let directory: TemporaryDirectory
    public let options: Options
    /// The words of a program that executes the daemon, such as one that enters another namespace.
    public var wrapper: [String] = []
    private var process: ChildProcess?
    /// Every spawner that has been seen.
    private var spawners: Set<Int32> = []
    private let formerCgroups = LeftCgroups.paths()
    /// Whether the daemon has ended on request, so that it may leave nothing behind.
    private var endedInOrder = false

    public var runtimeDirectory: String { directory.path + "/run" }
    public var appDirectory: String { directory.path + "/apps" }
    public var machineDirectory: String { directory.path + "/machine" }
    public var socketPath: String { runtimeDirectory + "/control" }

    /// Starts the daemon and returns when it is ready (sd_notify(3)).
    public init(_ apps: [TestApp], _ options: Options = Options()) throws {
        if let user = options.user, user != getuid() as uid_t {
            try requireOrSkip(getuid() == 0, "only root can run as another user")
        }
        self.options = options
        directory = try TemporaryDirectory()
        for path in [runtimeDirectory, appDirectory] { mkdir(path, 0o755) }
        if options.desktopFolder { mkdir(directory.path + "/applications", 0o755) }
        if options.vendorFolder { mkdir(directory.path + "/vendor", 0o755) }
        if !options.profiles.isEmpty { mkdir(directory.path + "/profiles", 0o755) }
        for (name, text) in options.profiles {
            try directory.write(text, to: "profiles/" + name)
        }
        if let user = options.user {
            for path in [directory.path, runtimeDirectory] {
                chown(path, uid_t(user), gid_t(user))
            }
        }
        for app in apps { try install(app) }
        for (path, text) in options.machine { try describeMachine(path, text) }
        try configure(options.configuration)
        try start()
    }

    public convenience init(_ apps: TestApp..., options: Options = Options()) throws {
        try self.init(apps, options)
    }

    deinit { end() }

    // MARK: The process

    public var pid: Int32 {
        get throws {
            guard let process else { throw TestError("the daemon does not run") }
            return process.pid
        }
    }

    /// The spawner that the daemon uses: the process that listens at its socket.
    public var spawnerPid: Int32 {
        get throws {
            let path = runtimeDirectory + "/spawner"
            let pid = try UnixSocket.connect(to: path, .seqpacket).peerCredentials().pid
            spawners.insert(pid)
            return pid
        }
    }

    private var folderOptions: [String] {
        let own = options.desktopFolder ? [directory.path + "/applications"] : []
        var words = (own + options.otherDesktopFolders).flatMap { ["--desktop", $0] }
        if !options.profiles.isEmpty { words += ["--profiles", directory.path + "/profiles"] }
        return words
    }

    /// Starts the daemon, the first time or again, and waits until it is ready.
    public func start() throws {
        let address = directory.path + "/ready"
        let ready = try DatagramSocket(boundAt: address, mode: 0o666)
        defer { unlink(address) }
        let program = try Programs.daemon
        var request = ChildRequest(
            program,
            arguments: [
                program, "--runtime-directory", runtimeDirectory, "--state-directory",
                directory.path + "/state", "--cache-directory", directory.path + "/cache",
                "--apps", appDirectory,
                "--config", directory.path + "/greenroom.conf", "--spawner",
                try options.spawner ?? Programs.spawner, "--shim",
                try options.shim ?? prewarmShim(),
            ] + (options.runtimes.map { ["--runtimes", $0] } ?? [])
                + (options.ownMachine ? [] : ["--machine-root", machineDirectory])
                + folderOptions
                + (options.vendorFolder ? ["--apps", directory.path + "/vendor"] : []),
            environment: [
                "PATH=\(options.searchPath)", "NOTIFY_SOCKET=\(address)",
                "GREENROOM_TEST=\(directory.path)", "SWIFT_BACKTRACE=enable=no", "LANG=C",
            ] + (options.desktopFolder && options.hasDisplay ? ["DISPLAY=:99"] : [])
                + options.environment + ChildRequest.sanitizerOptions)
        let log = open(logPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
        defer { close(log) }
        if let first = wrapper.first {
            request.path = first
            request.arguments = wrapper + request.arguments
        }
        request.descriptors[2] = log
        request.user = options.user
        request.newSession = true
        request.openFileLimit = options.openFileLimit
        let process = try ChildProcess(request)
        self.process = process
        var entries = [
            PollEntry(ready.descriptor.rawValue, POLLIN), PollEntry(process.pidfd, POLLIN),
        ]
        while true {
            let count = try PollEntry.wait(&entries, milliseconds: Processes.deadline)
            guard count > 0, entries[0].isReady else {
                throw TestError("the daemon does not start: \(self.log)")
            }
            while let message = try ready.receive() {
                if message.text.contains("READY=1") {
                    _ = try? spawnerPid
                    return
                }
            }
        }
    }

    /// Sends SIGKILL; the spawner and the apps live on. Returns when the daemon has ended.
    public func kill() throws {
        // They close the daemon's descriptors a moment later, also its socket and its lock.
        let keepers = process.map { Processes.keepers(of: $0.pid) } ?? []
        process?.kill(SIGKILL)
        try process?.waitForExit()
        process = nil
        endedInOrder = false
        // A socket that the test lends stays open, and a keeper stays that waits for its app's memory.
        try Processes.wait("the daemon's socket is not closed") {
            !keepers.contains(where: Processes.isAlive)
                || (try? UnixSocket.connect(to: socketPath, .stream)) == nil
        }
    }

    /// Sends SIGTERM, on which the daemon ends the apps, the spawner and itself.
    @discardableResult
    public func terminate() throws -> ChildProcess.Exit {
        guard let process else { throw TestError("the daemon does not run") }
        process.kill(SIGTERM)
        let exit = try process.waitForExit()
        self.process = nil
        endedInOrder = true
        return exit
    }

    public func signal(_ number: Int32) { process?.kill(number) }

    /// The output of the daemon, of its spawner, and of apps without their own standard error.
    public var log: String {
        String(decoding: (try? readFile(logPath)) ?? [], as: UTF8.self)
    }
    private var logPath: String { directory.path + "/log" }

    /// Live processes of this daemon: itself, the spawner, every app.
    public var processes: [Int32] {
        var all = Set(Processes.mentioning(directory.path))
        for spawner in spawners where Processes.isAlive(spawner) {
            all.insert(spawner)
            all.formUnion(Processes.descendants(of: spawner))
        }
        return all.sorted()
    }

    private func end() {
        _ = try? spawnerPid
        if let process {
            // A stopped daemon would not handle the SIGTERM.
            process.kill(SIGCONT)
            process.kill(SIGTERM)
            do {
                try process.waitForExit()
                endedInOrder = true
            } catch {
                Issue.record("the daemon did not end on SIGTERM: \(log)")
            }
            // A process that is being killed does not count: the kernel needs a moment for it.
            let left = processes.filter {
                $0 != process.pid && !Processes.ends($0, within: Processes.deadline / 3)
            }
            if !left.isEmpty {
                let descriptions = left.map(Processes.description(of:))
                Issue.record("left by the daemon: \(descriptions) \(log)")
            }
        }
        process = nil
        // A child that is forked meanwhile is found in the next round.
        for _ in 0..<10 {
            let left = processes
            if left.isEmpty { break }
            for pid in left { Glibc.kill(pid, SIGKILL) }
            for pid in left { try? Processes.awaitEnd(of: pid) }
        }
        endCgroups()
    }

    /// Removes cgroups that remain: a killed spawner leaves its own to the next spawner, or to the
    /// test.
    private func endCgroups() {
        let left = LeftCgroups.paths(of: spawners).subtracting(formerCgroups).sorted()
        for path in left { LeftCgroups.remove(path) }
        guard endedInOrder, !left.isEmpty else { return }
        Issue.record("cgroups left by the daemon: \(left) \(log)")
    }

    // MARK: Files

    /// Removes what a reboot would remove. The daemon must have ended.
    public func forgetBoot() throws {
        removeTree(runtimeDirectory)
        mkdir(runtimeDirectory, 0o755)
    }

    public func install(_ app: TestApp) throws {
        try directory.write(app.manifest, to: "apps/\(app.identifier).app")
    }

    public func remove(_ app: String) throws {
        guard unlink("\(directory.path)/apps/\(app).app") == 0 else {
            throw TestError("removing \(app): errno \(errno)")
        }
    }

    /// Writes a file below `machine`.
    public func describeMachine(_ path: String, _ text: String) throws {
        var folder = machineDirectory
        mkdir(folder, 0o755)
        for part in path.split(separator: "/").dropLast() {
            folder += "/" + part
            mkdir(folder, 0o755)
        }
        try directory.write(text, to: "machine/" + path)
    }

    /// Unless the lines say otherwise, refills are not delayed, because most tests would have to wait,
    /// and instances that stand still on a busy machine have time to pause and to start.
    public func configure(_ lines: [String]) throws {
        // Windows are held without an active session, which a test does not have.
        var all = ["[Greenroom]", "WindowNeedsSession=no"] + lines
        for line in ["RefillDelaySec=0", "PauseDeadlineSec=300", "StartDeadlineSec=20"] {
            let key = line.prefix { $0 != "=" } + "="
            if !lines.contains(where: { $0.hasPrefix(key) }) { all.append(line) }
        }
        try directory.write(all.joined(separator: "\n") + "\n", to: "greenroom.conf")
    }

    // MARK: Clients

    public func client() throws -> TestClient { try TestClient(socketPath) }

    /// - Parameter after: the events after this number come first.
    public func watch(after: UInt64? = nil) throws -> EventWatcher {
        try EventWatcher(socketPath, after: after)
    }

    /// Returns the fact when there is one. Looks for it now, after each event, and after each
    /// change in the test's folder, because there is no event when an app writes a file.
    @discardableResult
    public func await<Fact>(
        _ what: String, _ look: (TestClient) throws -> Fact?
    ) throws -> Fact {
        let watcher = try watch()
        let client = try client()
        let files = try Inotify()
        _ = try files.watch(directory.path, for: UInt32(IN_CREATE | IN_MODIFY | IN_DELETE))
        let deadline = ContinuousClock.now + .milliseconds(4 * Int(Processes.deadline))
        while true {
            if let fact = try look(client) { return fact }
            let now = ContinuousClock.now
            if now > deadline { throw TestError("waiting for \(what), in vain; \(log)") }
            let other = files.descriptor.rawValue
            do { try watcher.next(or: other, milliseconds: Int32(Self.silence)) } catch {
                throw TestError("waiting for \(what): \(error); \(log)")
            }
            _ = try files.read()
            if ContinuousClock.now - now >= .milliseconds(Self.silence) { endIdlePolicies() }
        }
    }

    /// In milliseconds.
    private static let silence = 5000

    /// What the daemon lets run only on an idle processor would never end while other tests are busy.
    private func endIdlePolicies() {
        _ = try? spawnerPid
        for pid in spawners.flatMap(Processes.descendants) where IdleScheduling.isIdle(pid) {
            IdleScheduling.end(pid)
        }
    }

    /// Returns the paused instances of an app once there are this many.
    @discardableResult
    public func awaitPaused(
        _ app: String, count: Int = 1
    ) throws -> [Control.InstanceStatus] {
        try self.await("\(count) paused instances of \(app)") { client in
            let paused = try client.paused(app)
            return paused.count == count ? paused : nil
        }
    }

    /// Makes the app's pool again. Instances that were kept for earlier environments end with the
    /// old pool.
    public func renewPool(of app: TestApp) throws {
        try remove(app.identifier)
        _ = try client().reload()
        try self.await("the end of the pool of \(app.identifier)") { client in
            try client.instances().contains { $0.state == .prewarmed } ? nil : true
        }
        try install(app)
        _ = try client().reload()
    }
}
