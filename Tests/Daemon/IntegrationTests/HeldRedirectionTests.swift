import CTestSupport
import DaemonTestSupport
import DesktopEntry
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Held programs whose enabled desktop entries (`greenroomctl desktop enable`) are started by
/// launchers.
@Suite struct HeldRedirectionTests {
    private static let app = "org.example.windows"

    /// How a launcher starts an entry.
    enum Launcher: CaseIterable {
        /// It executes the entry's words.
        case own
        case gio
    }

    private final class Bench {
        let screen: Screen
        let watch: WindowWatch
        let daemon: TestDaemon
        let link: String
        private let folder: TemporaryDirectory
        /// Launchers, which end with the test.
        private var launchers: [ChildProcess] = []

        init(lines: [String] = []) throws {
            screen = try Screen()
            watch = try screen.watch()
            folder = try TemporaryDirectory()
            let name = HeldRedirectionTests.app
            let exec = "\(try Screen.probe()) xlib one %F"
            let original = try folder.write(
                "[Desktop Entry]\nType=Application\nName=Windows\nExec=\(exec)\n",
                to: "\(name).desktop")
            var options = TestDaemon.Options()
            options.desktopFolder = true
            options.otherDesktopFolders = [folder.path]
            daemon = try TestDaemon([], options)
            try daemon.directory.write(
                (["[App]", "Environment=DISPLAY=\(screen.display)", "User=\(windowUser)"] + lines
                    + ["[Prewarm]", "Depth=window", "Count=1"]).joined(separator: "\n") + "\n",
                to: "apps/\(name).app")
            link = "\(daemon.directory.path)/applications/\(name).desktop"
            let client = try daemon.client()
            _ = try client.reload()
            guard try client.list().first?.desktop?.file == original else {
                throw TestError("the daemon does not have the entry: \(daemon.log)")
            }
            let program = try Programs.client
            let enabled = try run(
                ChildRequest(
                    program, arguments: ["greenroomctl", "desktop", "enable", name],
                    environment: environment), mergingErrors: true)
            guard enabled.exit == .status(0) else {
                throw TestError(String(decoding: enabled.output, as: UTF8.self))
            }
        }

        private var environment: [String] {
            [
                "PATH=/usr/bin:/bin", "LANG=C", "DISPLAY=\(screen.display)",
                "XDG_DATA_HOME=\(daemon.directory.path)",
                "GREENROOM_SOCKET=\(daemon.socketPath)",
            ]
        }

        /// Starts the entry in the directory in which its held instance is.
        ///
        /// - Parameter descriptors: other standard streams than /dev/null.
        @discardableResult
        func start(
            _ launcher: Launcher = .own, _ descriptors: [Int32: Int32] = [:],
            directory: String = "/", files: [String] = []
        ) throws -> ChildProcess {
            var words: [String]
            switch launcher {
            case .own:
                let entry = try #require(
                    try DesktopEntry.parse(
                        readFile(link), identifier: HeldRedirectionTests.app, file: link,
                        locale: Locale(environment: [:])))
                words = try #require(entry.command).arguments(
                    opening: files, name: "Windows", icon: nil, file: link)
            case .gio:
                let gio = findProgram("gio")
                try requireOrSkip(gio != nil, "no gio: apt-get install libglib2.0-bin")
                words = [gio!, "launch", link] + files
            }
            var request = ChildRequest(words[0], arguments: words, environment: environment)
            request.user = windowUser
            request.directory = directory
            request.descriptors = descriptors
            let process = try ChildProcess(request)
            launchers.append(process)
            return process
        }

        /// The instance whose window is the next to appear.
        func shown() throws -> Control.InstanceStatus {
            guard try watch.next() == "one" else { throw TestError("another window") }
            return try daemon.await("a running instance") { client in
                try client.instances(of: HeldRedirectionTests.app).first {
                    $0.kind != nil && $0.exit == nil
                }
            }
        }

        @discardableResult
        func awaitHeld() throws -> Control.InstanceStatus {
            try daemon.await("a held window") { client in
                try client.paused(HeldRedirectionTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                }
            }
        }

        func end(_ instance: Control.InstanceStatus) throws {
            let client = try daemon.client()
            _ = try client.change(.terminate, instance.instance)
            _ = try client.wait(instance.instance)
        }

        /// Starts the entry once, so that an instance is held in the environment of the launcher.
        func prepare(_ launcher: Launcher = .own) throws {
            try awaitHeld()
            try start(launcher)
            try end(try shown())
            try awaitHeld()
        }

        /// Starts the entry, and expects its process to end as its instance does.
        func expect(
            _ reason: Control.ColdReason?, differing state: String? = nil,
            _ descriptors: [Int32: Int32] = [:], directory: String = "/", files: [String] = [],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let held = try awaitHeld()
            let process = try start(.own, descriptors, directory: directory, files: files)
            let instance = try shown()
            #expect(
                instance.coldReason == reason.map { .known($0) }, sourceLocation: sourceLocation)
            #expect(
                (instance.instance == held.instance) == (reason == nil),
                sourceLocation: sourceLocation)
            let explained = try daemon.client().explain(HeldRedirectionTests.app).lastLaunch
            #expect(
                explained?.differingState == state.map { [$0] }, sourceLocation: sourceLocation)
            try end(instance)
            #expect(try process.waitForExit() == .signal(SIGTERM), sourceLocation: sourceLocation)
        }
    }

    private func requireFreezer() throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
    }

    @Test(arguments: Launcher.allCases)
    func `a launcher's start of an enabled entry shows the held window`(
        launcher: Launcher
    ) throws {
        try requireFreezer()
        let bench = try Bench()
        try bench.prepare(launcher)
        for _ in 0..<2 {
            let held = try bench.awaitHeld()
            #expect(try bench.screen.windows() == [])
            try bench.start(launcher)
            let instance = try bench.shown()
            #expect(instance.kind == .prewarmed && instance.instance == held.instance)
            #expect(!instance.isAttached)
            try bench.end(instance)
        }
    }

    @Test func `a launcher whose output is a file gets its app as quickly`() throws {
        try requireFreezer()
        let bench = try Bench()
        try bench.prepare()
        let log = try bench.daemon.directory.write("", to: "session-errors")
        let file = open(log, O_WRONLY | O_APPEND | O_CLOEXEC)
        defer { close(file) }
        try bench.expect(nil, [1: file, 2: file])
    }

    @Test func `what only a new process can have makes an enabled entry start cold`() throws {
        try requireFreezer()
        let bench = try Bench()
        try bench.prepare()
        let pipe = try Pipe()
        var terminal: (controller: Int32, own: Int32) = (-1, -1)
        try requireOrSkip(
            cts_open_terminal(&terminal.controller, &terminal.own) == 0, "no pseudo-terminals")
        defer {
            close(terminal.controller)
            close(terminal.own)
        }
        for number: Int32 in [1, 2] {
            try bench.expect(.callerState, differing: "streams", [number: pipe.writeEnd])
        }
        try bench.expect(.callerState, differing: "streams", [0: pipe.readEnd])
        for number: Int32 in 0...2 {
            try bench.expect(.callerState, differing: "streams", [number: terminal.own])
        }
        try bench.expect(.callerState, differing: "descriptors", [5: pipe.writeEnd])
        try bench.expect(.callerState, differing: "directory", directory: "/tmp")
        try bench.expect(.arguments, files: ["/etc/hostname"])
        try bench.expect(nil)
    }
}
