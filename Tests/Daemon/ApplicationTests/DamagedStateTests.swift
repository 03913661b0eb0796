import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Damage to files in the state directory, as by a full disk, a power cut or a mistake.
enum Damage: String, CaseIterable, Sendable {
    case cut, garbage, immense, empty, tooLong, folder, fifo, link

    /// Replaces a file by a damaged one.
    func replace(_ path: String, _ immense: String) throws {
        let text = String(decoding: try readFile(path), as: UTF8.self)
        unlink(path)
        let folder = String(path[..<path.lastIndex(of: "/")!])
        let name = String(path[path.index(after: path.lastIndex(of: "/")!)...])
        func write(_ text: String) throws {
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
            defer { close(file) }
            guard Glibc.write(file, text, text.utf8.count) == text.utf8.count else {
                throw TestError("\(path): errno \(errno)")
            }
        }
        switch self {
        case .cut: try write(String(text.dropLast(2)))
        case .garbage: try write("\u{0}\u{1}\u{7f}ELF =%\n request\nrequest\nrun\n\n" + text)
        case .immense: try write(immense)
        case .empty: try write("")
        case .tooLong: try write(text + String(repeating: "x\n", count: 300 << 10))
        case .folder: mkdir(path, 0o755)
        case .fifo: mkfifo(path, 0o600)
        case .link: symlink("\(folder)/../\(name)-elsewhere", path)
        }
    }
}

@Suite struct `A damaged file of the state directory` {
    private static let app = "org.example.app"
    private static let other = "org.example.other"

    /// The daemon reports a damaged file, and only once.
    private func expectSaid(_ daemon: TestDaemon, _ path: String) {
        let lines = daemon.log.split(separator: "\n").filter {
            $0.contains(path + " ") || $0.contains(path + ":")
        }
        let reading = lines.filter {
            !$0.contains("writing metrics") && !$0.contains("keeping the")
        }
        #expect(reading.count == 1, "\(lines)")
        #expect(Set(lines).count == lines.count, "said twice: \(lines)")
    }

    @Test(arguments: Damage.allCases) func `a damaged file loses its metrics and nothing else`(
        damage: Damage
    ) throws {
        let daemon = try TestDaemon.with(Probe(Self.app), Probe(Self.other))
        for app in [Self.app, Self.other] {
            let launched = try daemon.client().launch(app).instance
            try daemon.awaitState(.active, of: launched)
            try daemon.client().change(.kill, launched)
            _ = try daemon.client().wait(launched)
            _ = try daemon.client().metrics(app)
        }
        try daemon.kill()
        let path = daemon.directory.path + "/state/metrics/\(getuid())/\(Self.app)"
        try damage.replace(
            path,
            """
            delivered 9223372036854775807
            total -9223372036854775808 9223372036854775807
             exit.foreground.normal 18446744073709551615
             exit.foreground.abnormal 9223372036854775807
             time.foreground 18446744073709551615
             launch.resume.200 18446744073709551615
            current -9223372036854775808 -1
             exit.foreground.normal 18446744073709551615
            pending 9223372036854775807 -9223372036854775808
             exit.foreground.normal 18446744073709551615
            nonsense

            """)
        try daemon.start()
        let client = try daemon.client()
        let launched = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: launched)
        _ = try client.metrics(Self.app)
        try client.change(.kill, launched)
        _ = try client.wait(launched)
        #expect(try client.metrics(Self.app).total.exitCounts.isEmpty == false)
        // The damage is reported once, however often the file is read.
        _ = try client.reload()
        _ = try client.metrics(Self.app)
        expectSaid(daemon, path)
        #expect(try client.metrics(Self.other).total.exitCounts.isEmpty == false)
        #expect(try daemon.terminate() == .status(0))
    }

    @Test(arguments: Damage.allCases)
    func `a damaged file loses its scheduled work and nothing else`(
        damage: Damage
    ) throws {
        let later = "earliest=9000000000000000"
        let daemon = try TestDaemon()
        mkdir(daemon.directory.path + "/state", 0o755)
        mkdir(daemon.directory.path + "/state/tasks", 0o755)
        for app in [Self.app, Self.other] {
            try daemon.directory.write(
                "request processing clean \(later)\nrequest refresh look \(later)\n",
                to: "state/tasks/\(app)")
        }
        let path = daemon.directory.path + "/state/tasks/\(Self.app)"
        try damage.replace(
            path,
            """
            request refresh look earliest=9223372036854775807
            request processing clean earliest=-9223372036854775808 network power nonsense
            run 18446744073709551615 refresh look
            nonsense

            """)
        for app in [Self.app, Self.other] {
            var probe = Probe(app)
            probe.application = ["ScheduledTasks=look clean"]
            try probe.install(in: daemon)
        }
        let client = try daemon.client()
        #expect(try client.reload().failed == [])
        func tasks(_ app: String) throws -> [String] {
            guard case .tasks(let tasks) = try client.call(.task(.list(app: app))) else {
                throw TestError("another reply")
            }
            return tasks.map(\.identifier).sorted()
        }
        #expect(try tasks(Self.other) == ["clean", "look"])
        switch damage {
        case .cut: #expect(try tasks(Self.app) == ["clean"])
        case .garbage: #expect(try tasks(Self.app) == ["clean", "look"])
        case .immense: #expect(try tasks(Self.app).contains("look"))
        case .empty, .tooLong, .folder, .fifo, .link: #expect(try tasks(Self.app) == [])
        }
        let launched = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: launched)
        _ = try client.reload()
        expectSaid(daemon, path)
        #expect(try daemon.terminate() == .status(0))
    }
}
