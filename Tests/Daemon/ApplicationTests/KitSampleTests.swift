import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// The sample apps with the manifests that are shipped, through the real daemon.
@Suite struct `The samples under the daemon` {
    /// The shipped manifest, with this build's program and this test's folder.
    private func install(
        _ name: String, in daemon: TestDaemon, _ lines: [String] = [],
        _ change: (String) -> String = { $0 }
    ) throws -> String {
        let identifier = "io.greenroom.\(name)"
        let path = "\(packageRoot)/config/apps/\(identifier).app"
        let program = try Programs.built("greenroom-\(name.lowercased())")
        let text = String(decoding: try readFile(path), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map { line in
                guard line.hasPrefix("Exec=") else { return String(line) }
                return (["Exec=\(program)"] + lines).joined(separator: "\n")
            }.joined(separator: "\n")
        try daemon.directory.write(change(text), to: "apps/\(identifier).app")
        _ = try daemon.client().reload()
        return identifier
    }

    @Test func `Notes is prewarmed, opens a URL, takes a quick action, and is thawed for more`()
        throws
    {
        let daemon = try TestDaemon()
        let file = try daemon.directory.write("buy milk\ncall mother\n", to: "notes.txt")
        let notes = try install("Notes", in: daemon, ["Environment=NOTES_FILE=\(file)"])
        let paused = try #require(try daemon.awaitPaused(notes).first)
        let client = try daemon.client()
        let launched = try client.handled(.open(.init(urls: ["notes:2"]))).1
        #expect(launched.kind == .prewarmed && launched.instance == paused.instance)
        try daemon.awaitState(.active, of: launched.instance)
        #expect(daemon.log.contains("call mother\n"))
        let action = try client.handled(
            .performAction(app: notes, action: "new-note", isBackground: false)
        ).1
        #expect(action.instance == launched.instance)
        #expect(try client.change(.suspend, launched.instance) == .suspended)
        #expect(daemon.log.contains("New note, one line:\n"))
        #expect(try client.handled(.open(.init(urls: ["notes:1"]))).1.kind == .resume)
        try daemon.awaitState(.active, of: launched.instance)
        try client.change(.terminate, launched.instance)
        #expect(daemon.log.contains("buy milk\n") && daemon.log.contains("Goodbye.\n"))
    }

    @Test(arguments: [false, true])
    func `Notes restores what its user left, unless the user force-quit it`(
        isForced: Bool
    ) throws {
        let daemon = try TestDaemon()
        let file = try daemon.directory.write("buy milk\ncall mother\n", to: "notes.txt")
        let notes = try install("Notes", in: daemon, ["Environment=NOTES_FILE=\(file)"]) {
            $0 + "\nCount=0\n"
        }
        let client = try daemon.client()
        let first = try client.handled(.open(.init(urls: ["notes:2"]))).1.instance
        try daemon.awaitState(.active, of: first)
        try client.change(.suspend, first)
        // The app is reclaimed, or force-quit by its user.
        try client.change(isForced ? .kill : .terminate, first)
        let next = try client.launch(notes).instance
        try daemon.awaitState(.active, of: next)
        let shown = daemon.log.split(separator: "\n").filter { $0 == "call mother" }
        #expect(shown.count == (isForced ? 1 : 2))
    }

    @Test func `Notes greets a new user, from its own folder`() throws {
        let daemon = try TestDaemon()
        let notes = try install("Notes", in: daemon) { $0 + "\nCount=0\n" }
        let client = try daemon.client()
        for _ in 0..<2 {
            let instance = try client.launch(notes).instance
            try daemon.awaitState(.active, of: instance)
            try client.change(.terminate, instance)
        }
        let path = "\(daemon.directory.path)/state/containers/\(notes)/notes.txt"
        let lines = String(decoding: try readFile(path), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix("Welcome."))
    }

    /// Echo and the path of its socket, which is in the test's folder.
    private func installEcho(
        in daemon: TestDaemon, _ lines: [String] = []
    ) throws -> (app: String, path: String) {
        let path = daemon.directory.path + "/echo"
        let echo = try install("Echo", in: daemon, lines) { text in
            text.split(separator: "\n").map {
                $0.hasPrefix("ListenStream=") ? "ListenStream=\(path)" : String($0)
            }.joined(separator: "\n") + "\n"
        }
        return (echo, path)
    }

    @Test func `Echo is launched in the background by the first connection, and answers it`()
        throws
    {
        let daemon = try TestDaemon()
        let (echo, path) = try installEcho(in: daemon)
        try daemon.awaitPaused(echo)
        let watcher = try daemon.watch()
        let connection = try UnixSocket.connect(to: path, .stream, nonblocking: false)
        #expect(write(connection.descriptor.rawValue, "hello", 5) == 5)
        let launched = try watcher.next { $0.kind == .launched && $0.app == echo }
        #expect(launched.launchKind == .prewarmed)
        let instance = try #require(launched.instance)
        try daemon.awaitState(.background, of: instance)
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(connection.descriptor.rawValue, &bytes, bytes.count) == 5)
        #expect(Array(bytes[..<5]) == Array("hello".utf8))
        #expect(daemon.log.contains("echo: serves, launched socket\n"))
        // The app never came to the front.
        try daemon.client().change(.terminate, instance)
        let states = watcher.events.filter { $0.instance == instance }.compactMap(\.to)
        #expect(!states.contains { $0 == .active || $0 == .inactive })
    }

    /// Sends a text to Echo, and awaits the same text.
    private func talk(_ connection: UnixSocket, _ text: String) throws {
        #expect(write(connection.descriptor.rawValue, text, text.utf8.count) == text.utf8.count)
        try hear(connection, text)
    }

    private func hear(_ connection: UnixSocket, _ text: String) throws {
        guard try connection.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("Echo does not answer \(text)")
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(connection.descriptor.rawValue, &bytes, bytes.count)
        #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self) == text)
    }

    @Test func `a suspended Echo is woken for a hundred clients, and again, and nobody waits long`()
        throws
    {
        let daemon = try TestDaemon()
        let (echo, path) = try installEcho(in: daemon, ["BackgroundGraceSec=200ms"])
        let watcher = try daemon.watch()
        let instance = try daemon.client().launch(echo) { $0.isBackground = true }.instance
        for round in 1...3 {
            try watcher.awaitState(.suspended, of: instance)
            let begin = ContinuousClock.now
            var clients = try (0..<100).map { number in
                let client = try UnixSocket.connect(to: path, .stream, nonblocking: false)
                let text = "\(round) \(number)"
                #expect(write(client.descriptor.rawValue, text, text.utf8.count) > 0)
                return client
            }
            for number in 0..<100 {
                try hear(clients.removeFirst(), "\(round) \(number)")
            }
            #expect(ContinuousClock.now - begin < .milliseconds(Patience.milliseconds) / 3)
        }
        try watcher.awaitState(.suspended, of: instance)
        let thaws = watcher.events.count { $0.instance == instance && $0.from == .suspended }
        #expect(thaws == 3)
        let said = daemon.log.split(separator: "\n").filter { $0 == "echo: resumed for socket" }
        #expect(said.count == 3)
    }

    @Test func `Echo is not suspended while a client is connected`() throws {
        let daemon = try TestDaemon()
        let (echo, path) = try installEcho(in: daemon, ["BackgroundGraceSec=100ms"])
        let instance = try daemon.client().launch(echo) { $0.isBackground = true }.instance
        var connection: UnixSocket? = try UnixSocket.connect(to: path, .stream, nonblocking: false)
        try talk(connection!, "one")
        // It may have been suspended before it was connected.
        let watcher = try daemon.watch()
        for text in ["two", "three"] {
            try talk(connection!, text)
            #expect(throws: (any Error).self) {
                while true {
                    if try watcher.next(milliseconds: 1500).to == .suspended { break }
                }
            }
        }
        connection = nil
        try watcher.awaitState(.suspended, of: instance)
    }

    @Test func `Fetch is launched by its timer again and again, works, and ends by itself`()
        throws
    {
        let daemon = try TestDaemon()
        let source = try daemon.directory.write("news\n", to: "source")
        let history = daemon.directory.path + "/history"
        let watcher = try daemon.watch()
        let fetch = try install("Fetch", in: daemon, ["Environment=FETCH_FILE=\(history)"]) {
            text in
            text.split(separator: "\n").map { line in
                if line.hasPrefix("Exec=") { return "\(line) \(source)" }
                if line.hasPrefix("OnActiveSec=") { return "OnActiveSec=100ms" }
                return line.hasPrefix("OnUnitActiveSec=") ? "OnUnitActiveSec=200ms" : String(line)
            }.joined(separator: "\n") + "\n"
        }
        for _ in 0..<2 {
            let exited = try watcher.next { $0.kind == .exited && $0.app == fetch }
            #expect(exited.exit?.status == 0)
        }
        let lines = String(decoding: try readFile(history), as: UTF8.self).split(separator: "\n")
        #expect(lines.count >= 2)
        #expect(lines.allSatisfy { $0.hasSuffix(" news") })
    }

    @Test func `Fetch schedules its refresh when it is opened, and each refresh the next one`()
        throws
    {
        let daemon = try TestDaemon()
        let source = try daemon.directory.write("news\n", to: "source")
        let history = daemon.directory.path + "/history"
        let fetch = try install("Fetch", in: daemon, ["Environment=FETCH_FILE=\(history)"]) {
            text in
            text.split(separator: "\n").map { line in
                line.hasPrefix("Exec=") ? "\(line) \(source)" : String(line)
            }.joined(separator: "\n") + "\n"
        }
        let client = try daemon.client()
        let launched = try client.launch(fetch)
        func pending() throws -> [Control.ScheduledTask] {
            guard case .tasks(let tasks) = try client.call(.task(.list(app: fetch))) else {
                throw TestError("another reply")
            }
            return tasks.filter { $0.state == .pending }
        }
        func awaitPending() throws {
            let folder = daemon.directory.path + "/state/tasks"
            mkdir(daemon.directory.path + "/state", 0o755)
            mkdir(folder, 0o755)
            try awaitChange(in: folder + "/", "something scheduled") { try !pending().isEmpty }
        }
        try awaitPending()
        try client.change(.kill, launched.instance)
        for _ in 0..<2 {
            let watcher = try daemon.watch()
            _ = try client.call(.task(.run(app: fetch, identifier: "io.greenroom.Fetch.refresh")))
            let ended = try watcher.next { $0.kind == .taskEnded && $0.app == fetch }
            #expect(ended.outcome == .succeeded)
            #expect(try pending().first?.hold?.code == "earliest_begin")
        }
        let lines = String(decoding: try readFile(history), as: UTF8.self).split(separator: "\n")
        #expect(lines.count >= 3)
    }

    @Test(arguments: [false, true])
    func `Notes on a terminal is used, stopped, continued and interrupted as any program`(
        isPrewarmed: Bool
    ) throws {
        let daemon = try TestDaemon()
        let file = try daemon.directory.write("buy milk\n", to: "notes.txt")
        let notes = try install("Notes", in: daemon, ["Environment=NOTES_FILE=\(file)"]) {
            $0 + "\nCount=\(isPrewarmed ? 1 : 0)\n"
        }
        let shell = try TestTerminal.shell(
            ["GREENROOM_SOCKET=\(daemon.socketPath)", "NOTES_FILE=\(file)"],
            in: daemon.directory.path, client: try Programs.client)
        // TestDaemon would count the shell, which names its socket, among the processes left
        // behind.
        defer { shell.end() }
        if isPrewarmed {
            // The first run teaches the pool the caller's environment.
            try shell.enter("echo quit | greenroomctl run --pipe \(notes) >/dev/null 2>&1")
            try daemon.await("an instance with the shell's environment") { client in
                try client.paused(notes).isEmpty ? nil : true
            }
        }
        try shell.enter("greenroomctl run \(notes)", until: "lists the commands.\r\n")
        try shell.enter("new call mother", until: "Note 2 is kept.\r\n")
        // This may run before the daemon has heard that the app is active.
        let instance = try daemon.await("Notes to be active") { client in
            try client.instances(of: notes).first { $0.state == .active }
        }
        let pid = try #require(instance.processId)
        #expect(Processes.session(of: pid) == pid)
        shell.type("\u{1A}")
        #expect(try shell.await("ready> ").contains("Stopped"))
        try shell.enter("fg", until: "run \(notes)\r\n")
        try shell.await("the client's front") { shell.isRaw }
        try shell.enter("list", until: "2  call mother\r\n")
        shell.type("\u{3}")
        try shell.await("ready> ")
        #expect(try shell.enter("echo status $?").contains("status 130"))
        let kind = try daemon.client().explain(notes).lastLaunch?.kind
        #expect(kind == (isPrewarmed ? .prewarmed : .cold))
    }
}
