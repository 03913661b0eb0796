import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// The client's verbs that change files, and their effects in the daemon.
@Suite struct ManifestVerbTests {
    private static let app = "org.example.app"
    private static let text = "[App]\nExec=/bin/true\n[Install]\nWantedBy=boot login\n"

    private let daemon: TestDaemon
    private let client: TestClient
    private var vendor: String { "\(daemon.directory.path)/vendor/\(Self.app).app" }
    private var own: String { "\(daemon.appDirectory)/\(Self.app).app" }

    init() throws {
        var options = TestDaemon.Options()
        options.vendorFolder = true
        daemon = try TestDaemon([], options)
        client = try daemon.client()
        try daemon.directory.write(Self.text, to: "vendor/\(Self.app).app")
        _ = try client.reload()
    }

    private func run(
        _ words: String..., environment: [String] = [], behind: [String] = []
    ) throws -> (text: String, error: String, exit: ChildProcess.Exit) {
        let program = try Programs.client
        let (output, error) = (try Output(), try Output())
        var request = ChildRequest(
            program, arguments: [program] + words + ["--socket", daemon.socketPath] + behind,
            environment: ["PATH=/usr/bin:/bin", "HOME=/nonexistent"] + environment)
        request.directory = daemon.directory.path
        request.descriptors[1] = output.number
        request.descriptors[2] = error.number
        let process = try ChildProcess(request)
        let texts = (try output.text(), try error.text())
        return (texts.0, texts.1, try process.waitForExit())
    }

    private func target(_ path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    @Test func `enable makes links and disable removes them`() throws {
        let links = ["boot", "login"].map {
            "\(daemon.appDirectory)/\($0).wants/\(Self.app).app"
        }
        // The app is named by the last part of its identifier.
        let enabled = try run("enable", "app")
        #expect(enabled.exit == .status(0) && enabled.error == "")
        #expect(enabled.text == links.map { "linked \($0) -> \(vendor)\n" }.joined())
        #expect(links.map(target) == [vendor, vendor])
        #expect(try run("enable", Self.app, "--json").text == "{\"changes\":[]}\n")
        let disabled = try run("disable", Self.app)
        #expect(disabled.text == links.map { "removed \($0)\n" }.joined())
        #expect(links.map(target) == [nil, nil])
    }

    @Test(arguments: ["mask", "unmask", "enable", "disable", "edit", "cat"])
    func `a name that leads out of the folder is refused`(_ verb: String) throws {
        try daemon.directory.write(
            "[App]\nExec=/bin/true\n[Install]\nWantedBy=boot\n", to: "vendor/org.example.t@.app")
        let link = daemon.directory.path + "/out.app"
        symlink("/dev/null", link)
        for name in ["../out", "org.example.t@/../../x"] {
            let result = try run(verb, name)
            #expect(result.exit == .status(1))
            #expect(result.error.contains("is not the name of an app"), "\(result.error)")
        }
        #expect(target(link) == "/dev/null")
        #expect(target(daemon.directory.path + "/x.app") == nil)
    }

    @Test func `an app that cannot be enabled is refused with the reason`() throws {
        try daemon.directory.write("[App]\nExec=/bin/true\n", to: "vendor/org.example.plain.app")
        let plain = try run("enable", "org.example.plain")
        #expect(plain.exit == .status(1) && plain.error.contains("add [Install] with WantedBy="))
        let unknown = try run("enable", "org.example.aap")
        #expect(
            unknown.exit == .status(1) && unknown.error.contains("did you mean org.example.app?"))
        try daemon.directory.write("[App]\nUMask=9\n", to: "vendor/org.example.bad.app")
        let bad = try run("enable", "org.example.bad")
        #expect(bad.exit == .status(2) && bad.error.contains("org.example.bad.app:2:7: UMask="))
    }

    @Test func `mask removes an app and unmask brings it back`() throws {
        let masked = try run("mask", Self.app, "--json")
        #expect(
            masked.text
                == "{\"changes\":[{\"kind\":\"linked\",\"path\":\"\(own)\",\"target\":\"/dev/null\"}]}\n"
        )
        #expect(try client.list() == [])
        #expect(try run("delta").text == "[MASKED]     \(own) -> \(vendor)\n")
        let enabled = try run("enable", Self.app)
        #expect(
            enabled.exit == .status(1) && enabled.error.contains("greenroomctl unmask \(Self.app)"))
        #expect(try run("unmask", Self.app).text == "removed \(own)\n")
        #expect(try client.list().map(\.identifier) == [Self.app])
        try daemon.directory.write(Self.text, to: "apps/\(Self.app).app")
        let inTheWay = try run("mask", Self.app)
        #expect(inTheWay.exit == .status(1) && inTheWay.error.contains("is in the way"))
        #expect(try run("delta").text == "[EQUIVALENT] \(own) -> \(vendor)\n")
    }

    @Test func `edit checks a drop-in and installs it`() throws {
        let dropIn = "\(own).d/override.conf"
        let editor = "EDITOR=f() { printf '[App]\\nName=Edited\\n' >\"$1\"; }; f"
        let edited = try run("edit", Self.app, environment: [editor])
        #expect(edited.exit == .status(0) && edited.text == "written \(dropIn)\n")
        #expect(try client.list().map(\.name) == ["Edited"])
        #expect(try run("delta").text == "[EXTENDED]   \(dropIn) -> \(vendor)\n")
        #expect(
            try run("cat", Self.app).text
                == "# \(vendor)\n\(Self.text)\n# \(dropIn)\n[App]\nName=Edited\n")
        // An editor that saves no change changes nothing.
        let left = try run("edit", Self.app, environment: ["EDITOR=true"])
        #expect(left.exit == .status(0) && left.text == "\(dropIn): nothing changed\n")
    }

    @Test func `edit keeps an invalid text and does not install it`() throws {
        let editor = "EDITOR=f() { printf '[App]\\nUMask=9\\n' >\"$1\"; }; f"
        let edited = try run("edit", Self.app, environment: [editor])
        #expect(edited.exit == .status(2))
        let draft = try #require(
            edited.error.split(separator: "\n").last?.split(separator: " ").last.map(String.init))
        #expect(String(decoding: try readFile(draft), as: UTF8.self) == "[App]\nUMask=9\n")
        #expect(edited.error.contains("\(draft):2:7: UMask="))
        #expect(try client.reload().failed == [])
    }

    @Test func `edit --full makes a full copy of the manifest`() throws {
        let editor = "EDITOR=sed -i s,^Exec.*,Exec=/bin/false,"
        let edited = try run("edit", "--full", Self.app, environment: [editor])
        #expect(edited.exit == .status(0) && edited.text == "written \(own)\n")
        #expect(try client.run(Self.app).exit.status == 1)
        #expect(try run("delta").text == "[OVERRIDDEN] \(own) -> \(vendor)\n")
    }

    @Test func `launch makes paths of files absolute and leaves arguments as they are`() throws {
        let directory = daemon.directory.path
        try daemon.directory.write(
            "[App]\nExec=/bin/sh -c 'printf \"%%s\\\\n\" \"$@\" >\(directory)/out' sh\n",
            to: "vendor/\(Self.app).app")
        #expect(try client.reload().failed == [])
        let watcher = try daemon.watch()
        let launched = try run(
            "launch", Self.app, "log", "none", "http://x/", behind: ["--", "log", "--", "-x"])
        #expect(launched.exit == .status(0))
        try watcher.next { $0.kind == .exited }
        #expect(
            String(decoding: try readFile(directory + "/out"), as: UTF8.self)
                == "\(directory)/log\nnone\nhttp://x/\nlog\n--\n-x\n")
    }

    @Test func `enable without a daemon works on the system's folders`() throws {
        try daemon.terminate()
        let enabled = try run("enable", Self.app)
        // Without a daemon, the daemon's folders are not known, so the system's folders are used.
        #expect(enabled.exit == .status(1) && enabled.error.contains("/etc/greenroom/apps"))
    }

    @Test func `a user who may not write is told who may`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let program = try Programs.client
        let error = try Output()
        var request = ChildRequest(
            program,
            arguments: [program, "mask", Self.app, "--socket", daemon.socketPath],
            environment: ["PATH=/usr/bin:/bin"])
        request.user = 65_534
        request.descriptors[2] = error.number
        let process = try ChildProcess(request)
        #expect(try error.text().contains("whoever owns the folder may do this"))
        #expect(try process.waitForExit() == .status(77))
    }

    /// The standard input cannot be opened by a path, like a pipe of another user (sudo -u).
    @Test func `edit reads the standard input that it was given`() throws {
        var ends: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let text = "[App]\nExec=/bin/true\nName=By socket\n"
        #expect(write(ends[1], text, text.utf8.count) == text.utf8.count)
        close(ends[1])
        defer { close(ends[0]) }
        let program = try Programs.client
        var request = ChildRequest(
            program,
            arguments: [
                program, "edit", "--full", "--stdin", "org.example.fresh", "--socket",
                daemon.socketPath,
            ])
        request.descriptors[0] = ends[0]
        let result = try TestSupport.run(request, mergingErrors: true)
        #expect(result.exit == .status(0), "\(String(decoding: result.output, as: UTF8.self))")
        #expect(try client.list().contains { $0.name == "By socket" })
    }

    @Test func `edit says what an identifier looks like`() throws {
        let result = try run("edit", "--full", "--stdin", "foo")
        #expect(result.exit == .status(1))
        #expect(result.error.contains("give its identifier, such as org.example.app"))
        #expect(!result.error.contains("--full"), "\(result.error)")
    }

    @Test func `edit installs nothing that a reload would refuse`() throws {
        try daemon.directory.write("[App]\nExec=/nowhere/at/all\n", to: "text")
        let program = try Programs.client
        let words = ["edit", "--full", "--stdin", Self.app, "--socket", daemon.socketPath]
        var request = ChildRequest(
            "/bin/sh",
            arguments: ["sh", "-c", "exec \(program) \(words.joined(separator: " ")) <text"])
        request.directory = daemon.directory.path
        let result = try TestSupport.run(request, mergingErrors: true)
        let text = String(decoding: result.output, as: UTF8.self)
        #expect(result.exit == .status(2) && !text.contains("written"), "\(text)")
        #expect(text.contains("/nowhere/at/all"), "\(text)")
        #expect(try client.list().map(\.identifier) == [Self.app])
    }

    @Test func `enable and disable act at once with --now`() throws {
        try daemon.directory.write(
            "[App]\nExec=/bin/sleep 1000\n[Install]\nWantedBy=boot\n", to: "vendor/\(Self.app).app")
        _ = try client.reload()
        #expect(try run("is-enabled", Self.app).text == "disabled\n")
        #expect(try run("enable", Self.app, "--now").exit == .status(0))
        #expect(try run("is-enabled", Self.app).exit == .status(0))
        let instance = try #require(try client.instances(of: Self.app).first)
        #expect(try run("is-active", Self.app).text == "active\n")
        #expect(try run("disable", Self.app, "--now").exit == .status(0))
        _ = try client.wait(instance.instance)
        #expect(try run("is-active", Self.app).exit == .status(3))
        #expect(try run("is-enabled", Self.app).exit == .status(1))
    }

    @Test func `status of an app shows its manifest, and its processes as a tree`() throws {
        try daemon.directory.write(
            "[App]\nExec=/bin/sh -c 'sleep 1000 & wait'\n[Install]\nWantedBy=boot\n",
            to: "vendor/\(Self.app).app")
        _ = try client.reload()
        let process = try #require(try client.launch(Self.app).processId)
        // The shell starts its child after the launch.
        try Processes.wait("the shell has no child") {
            try ProcessTable.entries().contains { $0.parent == process && $0.hasExecuted }
        }
        let text = try run("status", Self.app).text
        #expect(
            text.contains("manifest: \(daemon.directory.path)/vendor/\(Self.app).app (disabled)"))
        #expect(text.contains("    \(process) /bin/sh -c sleep 1000 & wait\n      "))
        #expect(text.contains(" sleep 1000\n"))
        // Scripts read the table of all instances, and JSON, so neither gets these extra lines.
        #expect(!(try run("status").text.contains("manifest:")))
        #expect(try run("status", Self.app, "--json").text.split(separator: "\n").count == 1)
    }
}
