import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing
import VarlinkTestSupport

/// Invalid calls, each without its terminator.
enum Garbage: CaseIterable, Sendable {
    case noise, nothing, halfObject, emptyObject, array, number, unknownMember, depth

    var text: String {
        switch self {
        case .noise: "garbage"
        case .nothing: ""
        case .halfObject: "{\"method\":"
        case .emptyObject: "{}"
        case .array: "[1]"
        case .number: "{\"method\":1}"
        case .unknownMember: "{\"method\":\"x\",\"unknown\":1}"
        case .depth: String(repeating: "[", count: 5000)
        }
    }
}

/// Clients of every kind; a bad one must not disturb the others.
@Suite struct ClientTests {
    private static let app = "org.example.app"

    private static func daemon(_ options: TestDaemon.Options = .init()) throws -> TestDaemon {
        try TestDaemon(TestApp(app, exec: try compileProbe("behave.c")), options: options)
    }

    @Test(arguments: [
        ["list", "--\u{1b}[31m"], ["prewarm", "x", "--count", "\u{1b}]0;title\u{7}"],
        ["launch", "--\u{1b}[31m", "x"], ["status", "--instance", "\u{9b}31m"], ["\u{1b}[2J"],
        ["launch", "\u{1b}[31m.example.app"],
    ])
    func `greenroomctl's errors repeat no control characters`(arguments: [String]) throws {
        let daemon = try Self.daemon()
        let program = try Programs.client
        let request = ChildRequest(
            program, arguments: [program] + arguments,
            environment: ["LANG=C", "GREENROOM_SOCKET=\(daemon.socketPath)"])
        let result = try run(request, mergingErrors: true)
        let text = String(decoding: result.output, as: UTF8.self)
        let harmful = text.unicodeScalars.filter {
            $0 != "\n" && $0.properties.generalCategory == .control
        }
        #expect(result.exit != .status(0) && !text.isEmpty)
        #expect(harmful.isEmpty, "\(Array(result.output))")
    }

    @Test func `a repeated launch has the recorded outcome`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        let name: (inout Control.LaunchCall) -> Void = { $0.launchIdentifier = "once" }
        let (first, text, exit) = try client.run(Self.app, ["print", "x", "exit", "7"], name)
        #expect(text == "x\n" && exit.status == 7)
        let output = try Output()
        let second = try daemon.client().launch(
            Self.app, ["print", "y"], output: output.number, name)
        #expect(second.isRepeated && !first.isRepeated)
        #expect(second.instance == first.instance)
        #expect(second.kind == first.kind && second.coldReason == first.coldReason)
        #expect(try output.text() == "")
        #expect(try client.wait(.launch("once")).status == 7)
        #expect(throws: ControlError.noSuchLaunch("never")) { try client.wait(.launch("never")) }
    }

    @Test func `a client that dies during a call leaves its app running and nothing else`() throws {
        let daemon = try Self.daemon()
        let other = try daemon.client()
        let watcher = try daemon.watch()
        do {
            let client = try daemon.client()
            try client.send(.launch(Control.LaunchCall(app: Self.app)))
            try client.send(.wait(.instance(1)))
        }
        let event = try watcher.next { $0.kind == .exited }
        #expect(event.exit?.status == 0)
        #expect(try other.run(Self.app, ["exit", "3"]).exit.status == 3)
    }

    @Test(arguments: Garbage.allCases)
    func `only the client that sends invalid data is disconnected`(_ garbage: Garbage) throws {
        let daemon = try Self.daemon()
        let other = try daemon.client()
        _ = try other.list()
        let client = try daemon.client()
        try client.send(bytes: Array(garbage.text.utf8) + [0])
        try client.awaitClose()
        #expect(try other.list().count == 1)
    }

    @Test func `a partial message waits for its rest`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        let bytes = Array("{\"method\":\"io.greenroom.Control.List\"}\u{0}".utf8)
        for byte in bytes.dropLast() {
            try client.send(bytes: [byte])
            if byte == UInt8(ascii: ".") { #expect(try daemon.client().list().count == 1) }
        }
        let silent = try client.descriptorIsReadable()
        #expect(!silent)
        try client.send(bytes: [0])
        try client.awaitReadable()
        // A client that leaves after half a message is forgotten.
        let leaver = try daemon.client()
        try leaver.send(bytes: Array(bytes.prefix(20)))
        _ = try daemon.client().list()
    }

    @Test func `a message without an end is refused at the limit`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        let block = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 16)
        #expect(throws: (any Error).self) {
            for _ in 0..<1024 { try client.send(bytes: block) }
        }
        #expect(try daemon.client().list().count == 1)
    }

    @Test func `a watcher that does not read delays nobody, and can read all events later`() throws
    {
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/bin/true"))
        let deaf = try daemon.watch()
        let watcher = try daemon.watch()
        let client = try daemon.client()
        // The events exceed the socket's buffer, so the daemon keeps the rest.
        var last: UInt64 = 0
        for _ in 0..<300 {
            let launched = try client.launch(Self.app)
            last = try watcher.next { $0.kind == .exited && $0.instance == launched.instance }
                .sequence
        }
        try deaf.next { $0.sequence == last }
        #expect(deaf.events == watcher.events)
        let sequences = deaf.events.map(\.sequence)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 + 1 == $1 })
    }

    @Test func `one user's connections are limited, and a closed one makes room`() throws {
        var options = TestDaemon.Options()
        options.configuration = ["ConnectionsPerUser=3"]
        let daemon = try Self.daemon(options)
        var clients: [TestClient] = []
        // The connection that awaited the daemon's start may still be open.
        try Processes.wait("there is no room for three connections") {
            clients = []
            clients = try (0..<3).map { _ in try daemon.client() }
            return clients.allSatisfy { (try? $0.list()) != nil }
        }
        try daemon.client().awaitClose()
        clients.removeLast()
        // The daemon may hear of the end only after the next connection.
        try Processes.wait("the closed connection makes no room") {
            (try? daemon.client().list().count) == 1
        }
    }

    @Test(.enabled(if: PythonClient.isThere))
    func `the varlink package of Python can talk to the daemon`() throws {
        let daemon = try Self.daemon()
        let result = PythonClient.run(
            """
            import sys, varlink
            with varlink.Client.new_with_address("unix:" + sys.argv[1]) as client:
                assert "io.greenroom.Control" in [
                    i for i in client.get_interfaces()], client.get_interfaces()
                with client.open("io.greenroom.Control") as control:
                    apps = control.List()["apps"]
                    assert [a["identifier"] for a in apps] == ["\(Self.app)"], apps
                    launched = control.Launch(app="\(Self.app)", arguments=["exit", "9"])
                    assert launched["kind"] == "cold", launched
                    exited = control.Wait(instance=launched["instance"])
                    assert exited["exit"]["status"] == 9, exited
                    try:
                        control.Explain(app="org.example.ap")
                        assert False
                    except varlink.VarlinkError as error:
                        assert error.error() == "io.greenroom.Control.NoSuchApp", error
                        assert error.parameters()["suggestion"] == "\(Self.app)"
            with varlink.Client.new_with_address("unix:" + sys.argv[1]) as client, \\
                    client.open("io.greenroom.Control") as watching, \\
                    client.open("io.greenroom.Control") as control:
                events = watching.Watch(_more=True)
                assert not next(events).get("event")
                control.Launch(app="\(Self.app)")
                for reply in events:
                    if reply["event"]["kind"] == "exited": break
            print("ok")
            """, arguments: [daemon.socketPath])
        #expect(result.output == "ok\n")
        #expect(result.status == 0)
    }
}

extension TestClient {
    fileprivate func descriptorIsReadable() throws -> Bool { try isReadable(milliseconds: 0) }

    fileprivate func awaitReadable() throws {
        guard try isReadable(milliseconds: Processes.deadline) else { throw TestError("silence") }
    }

    private func isReadable(milliseconds: Int32) throws -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}
