import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Whichever program reads a manifest, it looks up names without a path in the daemon's PATH. When
/// `env` looks for a script's interpreter, it uses the PATH of its own process.
@Suite struct SearchPathTests {
    private static let app = "org.example.app"
    private static let usual = "/usr/local/bin:/usr/bin:/bin"

    /// Two interpreters with the same name, which are different shells, and a script that asks
    /// `env` for that name.
    private struct Interpreters {
        let folder: TemporaryDirectory
        let script: String
        static let name = "greenroom-test-shell"

        init() throws {
            folder = try TemporaryDirectory()
            for name in ["first", "second"] { mkdir(folder.path + "/" + name, 0o755) }
            script = try folder.write(
                """
                #!/usr/bin/env \(Self.name)
                kind=${BASH_VERSION:+bash}
                echo "${kind:-dash}"
                echo "${LAUNCHED:-unasked}" >>\(folder.path)/runs

                """, to: "script", mode: 0o755)
        }

        func install(_ shell: String, in name: String) throws {
            let path = "\(folder.path)/\(name)/\(Self.name)"
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o755)
            let bytes = try readFile(shell)
            _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            close(file)
        }

        func path(_ names: String...) -> String {
            (names.map { "\(folder.path)/\($0)" } + [SearchPathTests.usual]).joined(separator: ":")
        }

        /// The launch variable that each run of the script saw.
        var runs: [String] {
            let bytes = (try? readFile(folder.path + "/runs")) ?? []
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    private static func daemon(
        _ interpreters: Interpreters, _ searchPath: String, lines: [String] = []
    ) throws -> TestDaemon {
        var app = TestApp(app, exec: interpreters.script, prewarm: 1)
        app.lines = lines
        var options = TestDaemon.Options()
        options.searchPath = searchPath
        return try TestDaemon([app], options)
    }

    @Test func `a script is run by the interpreter in its caller's PATH, and only with a caller`()
        throws
    {
        let shells = try Interpreters()
        try shells.install("/bin/dash", in: "first")
        try shells.install("/bin/bash", in: "second")
        let daemon = try Self.daemon(shells, shells.path("first"))
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let caller = ["PATH=\(shells.path("second"))", "LAUNCHED=yes"]
        for kind in [Control.LaunchKind.cold, .prewarmed, .prewarmed] {
            let (launched, text, _) = try client.run(Self.app) {
                $0.callerEnvironment = caller.map(ByteString.text)
            }
            #expect(text == "bash\n")
            #expect(launched.kind == kind)
            try daemon.await("another like it") { try $0.paused(Self.app).first }
        }
        #expect(shells.runs == ["yes", "yes", "yes"])
    }

    @Test func `a new interpreter that comes earlier in PATH is the one that is prewarmed`() throws
    {
        let shells = try Interpreters()
        try shells.install("/bin/dash", in: "second")
        let daemon = try Self.daemon(shells, shells.path("first", "second"))
        let first = try daemon.awaitPaused(Self.app)
        try shells.install("/bin/bash", in: "first")
        kill(try #require(first.first?.processId), SIGKILL)
        try daemon.await("the next") { try $0.paused(Self.app).first { $0 != first[0] } }
        let (launched, text, _) = try daemon.client().run(Self.app)
        #expect(launched.kind == .prewarmed)
        #expect(text == "bash\n")
        #expect(shells.runs.count == 1)
    }

    @Test func `a script's interpreter is found in the PATH of its manifest's environment`() throws
    {
        let shells = try Interpreters()
        try shells.install("/bin/bash", in: "second")
        let daemon = try Self.daemon(
            shells, Self.usual, lines: ["Environment=PATH=\(shells.path("second")) LAUNCHED=yes"])
        try daemon.awaitPaused(Self.app)
        let (launched, text, _) = try daemon.client().run(Self.app)
        #expect(launched.kind == .prewarmed)
        #expect(text == "bash\n")
        #expect(shells.runs == ["yes"])
    }

    @Test func `a script whose interpreter is missing in its caller's PATH is launched cold`()
        throws
    {
        let shells = try Interpreters()
        try shells.install("/bin/dash", in: "first")
        let daemon = try Self.daemon(shells, shells.path("first"))
        try daemon.awaitPaused(Self.app)
        let watcher = try daemon.watch()
        let caller = ["PATH=\(Self.usual)", "LAUNCHED=yes"]
        let (launched, text, exit) = try daemon.client().run(Self.app) {
            $0.callerEnvironment = caller.map(ByteString.text)
        }
        #expect(launched.kind == .cold && text == "" && exit.status == 127)
        try watcher.next { $0.kind == .prewarmFailed }
        #expect(shells.runs == [])
    }

    // MARK: Other readers of manifests

    private func client(
        _ daemon: TestDaemon, _ words: String..., path: String
    ) throws -> (text: String, exit: ChildProcess.Exit) {
        let program = try Programs.client
        let output = try Output()
        var request = ChildRequest(
            program, arguments: [program] + words,
            environment: [
                "PATH=\(path)", "HOME=/nonexistent", "GREENROOM_SOCKET=\(daemon.socketPath)",
            ])
        request.descriptors[1] = output.number
        request.descriptors[2] = output.number
        let process = try ChildProcess(request)
        let text = try output.text()
        return (text, try process.waitForExit())
    }

    @Test func `the client reads a manifest as its daemon does, whatever the client's PATH`() throws
    {
        let shells = try Interpreters()
        try shells.install("/bin/dash", in: "first")
        var options = TestDaemon.Options()
        options.searchPath = shells.path("first")
        let daemon = try TestDaemon([], options)
        let file = try daemon.directory.write(
            "[App]\nExec=\(Interpreters.name)\n", to: "apps/\(Self.app).app")
        #expect(try daemon.client().reload().failed == [])
        let good = try client(daemon, "verify", file, path: Self.usual)
        #expect(good.exit == .status(0), "\(good.text)")
        let doctor = try client(daemon, "doctor", path: Self.usual)
        #expect(doctor.text.contains("1 manifest is good"), "\(doctor.text)")
        // A program that is only in the caller's PATH is reported as missing.
        unlink("\(shells.folder.path)/first/\(Interpreters.name)")
        try shells.install("/bin/dash", in: "second")
        #expect(try daemon.client().reload().failed.count == 1)
        for words in [["verify", file], ["doctor", "--json"]] {
            let bad = try client(daemon, words[0], words[1], path: shells.path("second"))
            #expect(bad.text.contains("\(Interpreters.name)"), "\(bad.text)")
            #expect(bad.exit != .status(0))
        }
    }

    @Test func `a folder with a program's name is not taken for the program`() throws {
        let folder = try TemporaryDirectory()
        for name in ["first", "second"] { mkdir(folder.path + "/" + name, 0o755) }
        mkdir("\(folder.path)/first/\(Interpreters.name)", 0o755)
        try folder.write(
            "#!/bin/sh\necho found\n", to: "second/\(Interpreters.name)", mode: 0o755)
        var options = TestDaemon.Options()
        options.searchPath = "\(folder.path)/first:\(folder.path)/second:\(Self.usual)"
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: Interpreters.name), options: options)
        #expect(try daemon.client().run(Self.app).text == "found\n")
    }

    @Test func `desktop entries are also read with the daemon's PATH`() throws {
        var options = TestDaemon.Options()
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        try daemon.directory.write(
            "[Desktop Entry]\nType=Application\nName=Calc\nExec=/bin/true\n",
            to: "applications/\(Self.app).desktop")
        let file = try daemon.directory.write("[App]\nName=More\n", to: "apps/\(Self.app).app")
        #expect(try daemon.client().reload().failed == [])
        let verified = try client(daemon, "verify", file, path: Self.usual)
        #expect(verified.exit == .status(0), "\(verified.text)")
    }
}
