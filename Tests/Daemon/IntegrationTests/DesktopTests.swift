import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Apps that desktop entries make.
@Suite struct DesktopTests {
    private static let app = "org.example.view"

    private func daemon(
        _ entries: [String: String], _ options: TestDaemon.Options = .init()
    ) throws -> TestDaemon {
        var options = options
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        mkdir("\(daemon.directory.path)/applications/sub", 0o755)
        for (name, text) in entries {
            try daemon.directory.write(
                "[Desktop Entry]\nType=Application\n" + text, to: "applications/\(name).desktop")
        }
        _ = try daemon.client().reload()
        return daemon
    }

    /// Options with which the apps of entries are not prewarmed.
    private static var boot: TestDaemon.Options {
        var options = TestDaemon.Options()
        options.configuration = ["DefaultWhen=boot"]
        return options
    }

    private static func writeHistory(_ client: TestClient) throws {
        _ = try client.call(.history(Control.HistoryQuery()))
    }

    @Test func `the apps of entries that are launched become warm, and no others`() throws {
        let program = try compileProbe("behave.c")
        let names = (0..<12).map { "viewer\($0)" }
        let daemon = try daemon(
            Dictionary(
                uniqueKeysWithValues: names.map { ($0, "Name=Viewer\nExec=\(program) %U\n") }))
        let client = try daemon.client()
        for name in names {
            #expect(try client.explain(name).reasons.map(\.code) == ["not_planned"])
        }
        for name in names.prefix(10) { #expect(try client.run(name).0.kind == .cold) }
        try Self.writeHistory(client)
        for name in names.prefix(10) { try daemon.awaitPaused(name) }
        for name in names.suffix(2) { #expect(try client.explain(name).prewarmedCount == 0) }
        #expect(try client.run(names[0]).0.kind == .prewarmed)
        // When prewarming is switched off, the instances end; they come back when it is switched
        // on.
        try daemon.configure(["DefaultWhen=boot"])
        _ = try client.reload()
        for name in names.prefix(10) { try daemon.awaitPaused(name, count: 0) }
        #expect(try client.explain(names[0]).reasons.map(\.code).first == "desktop_entry")
        try daemon.configure([])
        _ = try client.reload()
        for name in names.prefix(10) { try daemon.awaitPaused(name) }
    }

    @Test func `an entry's program that cannot be paused stays cold and is not planned`() throws {
        let program = try compileProbe(
            "behave.c", with: ProbeCompiler("clang", ["-static"]), output: "static")
        let daemon = try daemon([Self.app: "Name=Static\nExec=\(program)\n"])
        let client = try daemon.client()
        for _ in 0..<2 { #expect(try client.run(Self.app).0.kind == .cold) }
        guard case .planned(let plan) = try client.call(.plan(app: nil)) else {
            throw TestError("another reply")
        }
        #expect(plan.apps.isEmpty)
        #expect(try client.explain(Self.app).isEligible == false)
    }

    @Test func `an app without prewarm keys is planned, and one with a count is not`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try daemon([:])
        try daemon.directory.write("[App]\nExec=\(program)\n", to: "apps/a.silent.app")
        try daemon.directory.write(
            "[App]\nExec=\(program)\n[Prewarm]\nCount=1\n", to: "apps/a.counted.app")
        let client = try daemon.client()
        #expect(try client.reload().failed == [])
        try daemon.awaitPaused("a.counted")
        #expect(try client.explain("a.silent").prewarmedCount == 0)
        _ = try client.run("a.silent")
        try Self.writeHistory(client)
        try daemon.awaitPaused("a.silent")
    }

    @Test func `a desktop entry is an app that is listed, launched with files, and has actions`()
        throws
    {
        let daemon = try daemon(
            [
                Self.app:
                    "Name=Viewer\nName[de]=Betrachter\nExec=echo open %F end\nActions=new;other;\n"
                    + "[Desktop Action new]\nName=New\nExec=echo \"brand new\"\n"
                    + "[Desktop Action other]\nName=Other\nExec=printf hello\n",
                "sub/tool": "Name=Tool\nExec=true\nNoDisplay=true\n",
                "gone": "Name=Gone\nExec=true\nTryExec=no-such-program\n",
                "hidden": "Name=Hidden\nExec=true\nHidden=true\n",
            ], Self.boot)
        let client = try daemon.client()
        let apps = try client.list()
        #expect(apps.map(\.identifier) == [Self.app, "sub-tool"])
        #expect(apps[0].name == "Viewer" && apps[0].manifestFile == nil)
        #expect(apps[0].desktop?.actions.map(\.identifier) == ["new", "other"])
        #expect(apps.map { $0.desktop?.isShown } == [true, false])
        #expect(try client.run(Self.app, ["/a b", "file:///c%20d"]).text == "open /a b /c d end\n")
        #expect(try client.run(Self.app).text == "open end\n")
        #expect(try client.run(Self.app, [], { $0.action = "new" }).text == "brand new\n")
        // This action has another program than the app.
        #expect(try client.run(Self.app, [], { $0.action = "other" }).text == "hello")
        let error = #expect(throws: ControlError.self) {
            try client.launch(Self.app, [], { $0.action = "none" })
        }
        #expect(error?.description.contains("it has new, other") == true)
        #expect(throws: ControlError.self) { try client.prewarm(Self.app) }
        #expect(try client.explain(Self.app).reasons.map(\.code).first == "desktop_entry")
    }

    @Test func `the app of an entry starts at home, unless the entry or the caller says where`()
        throws
    {
        let daemon = try daemon(
            [Self.app: "Name=Where\nExec=pwd\n", "there": "Name=There\nExec=pwd\nPath=/usr\n"],
            Self.boot)
        try daemon.directory.write("[App]\nExec=pwd\n", to: "apps/a.manifest.app")
        let client = try daemon.client()
        _ = try client.reload()
        let home = String(cString: getpwuid(getuid()).pointee.pw_dir)
        #expect(try client.run(Self.app).text == "\(home)\n")
        #expect(try client.run(Self.app, [], { $0.workingDirectory = "/etc" }).text == "/etc\n")
        #expect(try client.run("there").text == "/usr\n")
        #expect(try client.run("a.manifest").text == "/\n")
    }

    /// The daemon and the client belong to the same user.
    @Test func `the command that prewarm suggests makes an entry's app prewarmed`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try daemon([Self.app: "Name=Viewer\nExec=\(program)\n"], Self.boot)
        let shell = try TestTerminal.shell(
            ["GREENROOM_SOCKET=\(daemon.socketPath)"], in: daemon.directory.path,
            client: try Programs.client)
        defer { shell.end() }
        #expect(
            try shell.enter("greenroomctl explain \(Self.app)").contains(
                "can be prewarmed: once it has a manifest\r\n"))
        let refusal = try shell.enter("greenroomctl prewarm \(Self.app) 2>&1 | cat")
        let start = try #require(refusal.firstRange(of: "printf"))
        let command = refusal[start.lowerBound...].prefix { $0 != "\r\n" && $0 != "\n" }
        #expect(try shell.enter(String(command)).contains("written \(daemon.appDirectory)/"))
        #expect(
            try shell.enter("greenroomctl prewarm \(Self.app)").contains("instance 1: prewarmed"))
    }

    @Test func `cat shows the entry, and action says how its actions are started`() throws {
        let text = "Name=Viewer\nExec=true\nActions=new;\n[Desktop Action new]\nName=N\nExec=true\n"
        let daemon = try daemon([Self.app: text])
        let program = try Programs.client
        func run(_ words: String...) throws -> String {
            let result = try TestSupport.run(
                ChildRequest(
                    program, arguments: [program] + words + ["--socket", daemon.socketPath]),
                mergingErrors: true)
            return String(decoding: result.output, as: UTF8.self)
        }
        let file = "\(daemon.directory.path)/applications/\(Self.app).desktop"
        #expect(try run("cat", Self.app).hasPrefix("# \(file)\n[Desktop Entry]\n"))
        #expect(try run("action", Self.app, "new").contains("--action"))
    }

    @Test func `a manifest with the name of an entry can add prewarming or mask the app`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try daemon(["viewer": "Name=Viewer\nExec=\(program) %U\n"])
        let client = try daemon.client()
        try daemon.directory.write("[App]\n[Prewarm]\nCount=1\n", to: "apps/viewer.app")
        #expect(try client.reload().failed == [])
        try daemon.awaitPaused("viewer")
        let (launched, text, exit) = try client.run("viewer", ["print", "x", "exit", "3"])
        #expect(launched.kind == .prewarmed && text == "x\n" && exit.status == 3)
        #expect(try client.list().map(\.name) == ["Viewer"])
        try daemon.directory.write("", to: "apps/viewer.app")
        #expect(try client.reload().loaded == [])
        unlink("\(daemon.appDirectory)/viewer.app")
        #expect(try client.reload().loaded == ["viewer"])
        unlink("\(daemon.directory.path)/applications/viewer.desktop")
        #expect(try client.reload().loaded == [])
    }

    @Test func `a manifest without a program and without an entry is an error`() throws {
        let daemon = try daemon(["other": "Name=x\nExec=true\n"])
        try daemon.directory.write("[App]\n", to: "apps/org.example.none.app")
        #expect(try daemon.client().reload().failed.map(\.line) == [1])
    }

    @Test(arguments: [("xdg-terminal-exec", ""), ("x-terminal-emulator", "-e ")])
    func `an app in a terminal is launched in one, with its files`(
        _ terminal: String, _ option: String
    ) throws {
        let folder = try TemporaryDirectory()
        try folder.write(
            "#!/bin/sh\necho \"$@\" >\(folder.path)/new && mv \(folder.path)/new \(folder.path)/shown\n",
            to: terminal, mode: 0o755)
        var options = TestDaemon.Options()
        options.searchPath = "\(folder.path):/usr/bin:/bin"
        let daemon = try daemon(
            [Self.app: "Name=Editor\nExec=cat -n %F\nTerminal=true\n"], options)
        _ = try daemon.client().launch(Self.app, ["/a b", "file:///c"])
        let shown = try daemon.await("the terminal's arguments") { _ in
            try? readFile(folder.path + "/shown")
        }
        let text = String(decoding: shown, as: UTF8.self)
        #expect(text == "\(option)/usr/bin/cat -n /a b /c\n")
        #expect(
            try daemon.client().explain(Self.app).reasons.map(\.code).first == "desktop_entry")
    }

    @Test func `run gives a terminal app the caller's terminal`() throws {
        let daemon = try daemon([
            Self.app: "Name=Shell\nExec=sh -c 'test -t 1 && echo \"on $1\"' x %F\nTerminal=true\n"
        ])
        let shell = try TestTerminal.shell(
            ["GREENROOM_SOCKET=\(daemon.socketPath)"], in: daemon.directory.path,
            client: try Programs.client)
        defer { shell.end() }
        try shell.enter("greenroomctl run \(Self.app) -- /tmp/x", until: "on /tmp/x\r\n")
        try shell.await("ready> ")
    }

    /// Reads all entries that are installed here, at least inkscape's.
    @Test func `installed entries are read and start the programs that they name`() throws {
        let folder = "/usr/share/applications"
        try requireOrSkip(
            access("\(folder)/org.inkscape.Inkscape.desktop", R_OK) == 0,
            "inkscape is not installed")
        var options = TestDaemon.Options()
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        rmdir("\(daemon.directory.path)/applications")
        symlink(folder, "\(daemon.directory.path)/applications")
        let client = try daemon.client()
        #expect(try client.reload().failed == [])
        let inkscape = try #require(
            try client.list().first { $0.identifier == "org.inkscape.Inkscape" })
        #expect(inkscape.program == "/usr/bin/inkscape" && inkscape.name == "Inkscape")
        #expect(inkscape.desktop?.isTerminal == false && inkscape.desktop?.isShown == true)
        #expect(try client.run(inkscape.identifier, ["--version"]).text.hasPrefix("Inkscape "))
    }

    @Test func `a terminal app is refused if there is no terminal`() throws {
        let daemon = try daemon([
            Self.app: "Name=Shell\nExec=echo text\nTerminal=true\n"
        ])
        let client = try daemon.client()
        try daemon.directory.write("[App]\n", to: "apps/\(Self.app).app")
        _ = try client.reload()
        let error = #expect(throws: ControlError.self) { try client.launch(Self.app) }
        #expect(error?.description.contains("greenroomctl run \(Self.app)") == true)
        // A client that brings descriptors for output needs no terminal.
        #expect(try client.run(Self.app).text == "text\n")
    }

    /// A daemon that was started before the session had a display.
    @Test func `a desktop app without a display gets the session's, or is refused`() throws {
        let runtime = try TemporaryDirectory()
        var options = TestDaemon.Options()
        options.desktopFolder = true
        options.hasDisplay = false
        options.environment = ["XDG_RUNTIME_DIR=\(runtime.path)"]
        let daemon = try TestDaemon([], options)
        let app = "org.example.shown"
        try daemon.directory.write(
            "[Desktop Entry]\nType=Application\nName=Shown\nExec=/usr/bin/env\n",
            to: "applications/\(app).desktop")
        try daemon.directory.write("[App]\n", to: "apps/\(app).app")
        let client = try daemon.client()
        #expect(try client.reload().failed.isEmpty)
        func refusal() throws -> String? {
            let error = #expect(throws: ControlError.self) { try client.launch(app) }
            guard case .refused("no_display", let reason)? = error else { return nil }
            return reason
        }
        #expect(try refusal()?.contains("dbus-update-activation-environment") == true)
        let output = try Output()
        _ = try client.launch(app, output: output.number) {
            $0.environment = [.init(name: "WAYLAND_DISPLAY", value: "wayland-7")]
        }
        #expect(try output.text().contains("WAYLAND_DISPLAY=wayland-7\n"))
        mkdir(runtime.path + "/systemd", 0o755)
        let manager = try UserManager(at: runtime.path + "/systemd/private", variables: "LANG=C")
        #expect(try refusal() != nil)
        manager.end()
        let another = try UserManager(
            at: runtime.path + "/systemd/private",
            variables: "DISPLAY=:7", "XAUTHORITY=/x", "LD_PRELOAD=/evil", "LANG=de")
        let shown = try Output()
        _ = try client.launch(app, output: shown.number)
        let lines = try shown.text().split(separator: "\n")
        #expect(lines.contains("DISPLAY=:7") && lines.contains("XAUTHORITY=/x"))
        #expect(!lines.contains("LD_PRELOAD=/evil") && !lines.contains("LANG=de"))
        another.end()
    }
}

/// Answers every call at a private socket with these variables, as systemd's user manager does.
private final class UserManager {
    private let process: ChildProcess

    init(at path: String, variables: String...) throws {
        let pipe = try Pipe()
        var request = ChildRequest(
            "/usr/bin/python3", arguments: ["python3", "-c", Self.program, path] + variables)
        request.descriptors[1] = pipe.writeEnd
        process = try ChildProcess(request)
        pipe.closeWriteEnd()
        // It prints a line when it listens.
        var byte: UInt8 = 0
        guard read(pipe.readEnd, &byte, 1) == 1 else { throw TestError("no user manager") }
    }

    func end() {
        process.kill(SIGKILL)
        _ = try? process.waitForExit()
    }

    /// Speaks the wire format of the D-Bus specification: the handshake, and a reply to one call.
    private static let program = """
        import os, socket, struct, sys
        path, variables = sys.argv[1], sys.argv[2:]
        if os.path.exists(path): os.unlink(path)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path); listener.listen()
        print("listening", flush=True)
        pad = lambda data, to: data + bytes(-len(data) % to)
        while True:
            peer = listener.accept()[0]
            data = b""
            while b"BEGIN\\r\\n" not in data:
                part = peer.recv(4096)
                if not part: break
                data += part
            if b"BEGIN\\r\\n" not in data: continue
            head, _, rest = data.partition(b"BEGIN\\r\\n")
            for line in head.lstrip(bytes(1)).split(b"\\r\\n"):
                if line == b"AUTH EXTERNAL": peer.sendall(b"DATA\\r\\n")
                elif line.startswith((b"AUTH EXTERNAL ", b"DATA")): peer.sendall(b"OK " + b"0" * 31 + b"1\\r\\n")
                elif line.startswith(b"NEGOTIATE"): peer.sendall(b"ERROR\\r\\n")
            while len(rest) < 16: rest += peer.recv(4096)
            serial = struct.unpack_from("<I", rest, 8)[0]
            strings = b""
            for one in variables:
                strings = pad(strings, 4) + struct.pack("<I", len(one)) + one.encode() + bytes(1)
            body = pad(bytes([2]) + b"as" + bytes(1), 4) + struct.pack("<I", len(strings)) + strings
            fields = bytes([5, 1]) + b"u" + bytes(1) + struct.pack("<I", serial)
            fields += bytes([8, 1]) + b"g" + bytes(1) + bytes([1]) + b"v" + bytes(1)
            message = struct.pack("<cBBBIII", b"l", 2, 1, 1, len(body), 1, len(fields)) + fields
            peer.sendall(pad(message, 8) + body)
        """
}
