import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing
import Varlink

/// `greenroomctl measure --windows`: a desktop program is launched on a screen, a bus and a home that
/// go with the measurement.
@Suite struct MeasureWindowsTests {
    private static let app = "org.example.window"
    private let folder: TemporaryDirectory
    init() throws {
        folder = try TemporaryDirectory()
        // The app's user passes through it to its own folder in there.
        chmod(folder.path, 0o711)
    }

    private func measure(
        _ program: String, path: String = "/usr/bin:/bin", _ words: [String] = []
    ) throws -> (exit: ChildProcess.Exit, text: String, daemon: TestDaemon) {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, "User=\(windowUser)", depth: "none"))
        let client = try Programs.client
        let (exit, output) = try run(
            ChildRequest(
                client,
                arguments: [
                    client, "measure", Self.app, "--socket", daemon.socketPath, "--windows",
                    "--yes",
                    "--rounds", "3",
                ] + words,
                environment: [
                    "PATH=\(path)", "TMPDIR=\(folder.path)", "HOME=/root", "LANG=C.UTF-8",
                ]),
            mergingErrors: true)
        return (exit, String(decoding: output, as: UTF8.self), daemon)
    }

    private func requireScreen() throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
        for (name, package) in [("Xvfb", "xvfb"), ("dbus-daemon", "dbus")] {
            try requireOrSkip(findProgram(name) != nil, "no \(name): apt-get install \(package)")
        }
    }

    private func texts(_ value: JSONValue?) -> [String] {
        guard case .array(let values)? = value else { return [] }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    @Test func `a program that can be held gets the lines of a profile, and a drop-in`() throws {
        try requireScreen()
        let program = findProgram("xcalc", "galculator", "kcalc")
        try requireOrSkip(program != nil, "no xcalc, galculator or kcalc")
        let (exit, text, daemon) = try measure(program!, ["--json", "--apply"])
        try #require(exit == .status(0), "\(text)")
        let report = try JSONValue(parsing: text)
        #expect(texts(report["refusals"]) == [], "\(text)")
        #expect(
            texts(report["lines"]).prefix(3) == ["[Profile]", "Program=\(program!)", "Window=yes"])
        guard case .array(let results) = report["results"] else { throw TestError(text) }
        #expect(
            results.map { $0["launched"] } == [
                .string("cold"), .string("main"), .string("libraries"), .string("window"),
            ])
        guard case .array(let times)? = results.last?["windowUSec"] else { throw TestError(text) }
        #expect(times.count == 3)
        let written = try readFile("\(daemon.appDirectory)/\(Self.app).app.d/measured.conf")
        #expect(String(decoding: written, as: UTF8.self).contains("[Prewarm]\nDepth=window\n"))
        // The screen, the bus, the home and the daemon are gone.
        #expect(try FolderContents.names(in: folder.path).isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    @Test func `a program that starts others is refused with the daemon's reason`() throws {
        try requireScreen()
        let program = findProgram("xterm", "lxterminal", "xfce4-terminal")
        try requireOrSkip(program != nil, "no terminal")
        let (exit, text, _) = try measure(program!, ["--apply"])
        #expect(exit == .status(0))
        #expect(text.contains("Verdict: it is not to be held at its first window"), "\(text)")
        #expect(text.contains("it starts other programs before it has a window"), "\(text)")
        #expect(text.contains("nothing is written"), "\(text)")
        #expect(try FolderContents.names(in: folder.path).isEmpty)
    }

    @Test func `without an X server, the error says what to install`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let (exit, text, _) = try measure("/bin/true", path: folder.path)
        #expect(exit != .status(0))
        #expect(
            text.contains("which needs Xvfb; install it (in Debian, apt install xvfb)"), "\(text)")
        #expect(try FolderContents.names(in: folder.path).isEmpty)
    }

    @Test func `a program of root is not measured`() throws {
        try requireOrSkip(getuid() == 0, "only root's daemon runs programs of root")
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/bin/true"))
        let client = try Programs.client
        let (exit, output) = try run(
            ChildRequest(
                client,
                arguments: [
                    client, "measure", Self.app, "--socket", daemon.socketPath, "--windows",
                    "--yes",
                ], environment: ["PATH=/usr/bin:/bin", "TMPDIR=\(folder.path)", "HOME=/root"]),
            mergingErrors: true)
        #expect(exit != .status(0))
        #expect(
            String(decoding: output, as: UTF8.self).contains("whose programs are not held"))
    }
}
