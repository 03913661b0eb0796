import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Clients that ask for more than their share. They get an error that names the limit, and all
/// others are answered in the meantime.
@Suite struct HostileClientTests {
    private static let app = "org.example.app"
    private static let stranger: Int32 = 12_345

    private func daemon(_ options: TestDaemon.Options = .init()) throws -> TestDaemon {
        try TestDaemon([program(Self.app, try compileProbe("behave.c"))], options)
    }

    private func connect(_ daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, Self.stranger, Self.stranger, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// A call of exactly this many bytes, with its terminator.
    private func call(byteCount: Int) -> [UInt8] {
        var bytes = Array(#"{"method":"io.greenroom.Control.List""#.utf8)
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: byteCount - bytes.count - 2)
        return bytes + Array("}".utf8) + [0]
    }

    /// Sends all bytes, unless the daemon closes the connection first.
    private func send(_ bytes: some Collection<UInt8>, to client: TestClient) {
        let bytes = Array(bytes)
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    client.descriptor, $0.baseAddress! + start, bytes.count - start,
                    CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            start += count
        }
    }

    /// The daemon's next message, whether or not there was a call.
    private func message(to client: TestClient) throws -> String {
        let file = FileDescriptor(owning: dup(client.descriptor))
        var bytes: [UInt8] = []
        while bytes.last != 0 {
            guard try file.waitUntilReadable(milliseconds: Processes.deadline) else {
                throw TestError("no message after \(bytes.count) bytes")
            }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(client.descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return "" }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    private func refusal(_ what: String, _ limit: Int) -> String {
        #"{"error":"io.greenroom.Control.LimitExceeded","parameters":{"what":"\#(what)","#
            + #""limit":\#(limit)}}"#
    }

    /// The last of the many calls shows the order: it makes an app that a later answer would name.
    @Test func `a single call is served before the rest of 200 earlier calls of another client`()
        throws
    {
        let daemon = try daemon()
        let (greedy, other) = (try daemon.client(), try daemon.client())
        _ = (try greedy.list(), try other.list())
        let pid = try daemon.pid
        daemon.signal(SIGSTOP)
        try Processes.wait("it is not stopped") { Processes.state(of: pid) == "T" }
        try daemon.install(program("org.example.late", try compileProbe("behave.c")))
        for _ in 1..<200 { try greedy.send(.list) }
        try greedy.send(.reload)
        try other.send(.list)
        daemon.signal(SIGCONT)
        guard case .listed(let apps) = try other.reply(to: .list) else {
            throw TestError("another reply")
        }
        #expect(apps.map(\.identifier) == [Self.app])
        for _ in 1..<200 { _ = try greedy.reply(to: .list) }
        guard case .reloaded(let report) = try greedy.reply(to: .reload) else {
            throw TestError("another reply")
        }
        #expect(report.loaded == [Self.app, "org.example.late"])
    }

    @Test func `10000 connections of one user reach its limit, and other users are served`() throws
    {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        var options = TestDaemon.Options()
        options.configuration = ["ConnectionsPerUser=100"]
        let daemon = try daemon(options)
        let other = try daemon.client()
        var accepted: [TestClient] = []
        var refusals: Set<String> = []
        for number in 0..<10_000 {
            let client = try connect(daemon)
            if number < 100 {
                accepted.append(client)
            } else {
                refusals.insert(try message(to: client))
            }
            if number % 1000 == 0 { #expect(try other.list().count == 1) }
        }
        #expect(
            refusals == [
                refusal("connections of one user (ConnectionsPerUser= in greenroom.conf)", 100)
            ])
        for client in accepted { #expect(try client.list().isEmpty) }
        #expect(try daemon.client().list().count == 1)
        // A child of another test may have copies until its exec.
        for client in accepted.suffix(50) { shutdown(client.descriptor, CInt(SHUT_RDWR)) }
        accepted.removeLast(50)
        try Processes.wait("no place is free") {
            (try? connect(daemon).list())?.isEmpty == true
        }
    }

    @Test func `clients take no more than half of the daemon's descriptors`() throws {
        var options = TestDaemon.Options()
        options.openFileLimit = 128
        options.configuration = ["ConnectionsPerUser=500"]
        let daemon = try daemon(options)
        var clients: [TestClient] = []
        var refusal: ControlError?
        while refusal == nil, clients.count < 400 {
            let client = try daemon.client()
            refusal = control { _ = try client.list() }
            clients.append(client)
        }
        guard case .limitExceeded(_, let limit)? = refusal else {
            // The daemon raises its soft limit if the hard limit allows it.
            return #expect(clients.count == 400)
        }
        #expect(limit < 128)
        // There is room for an app.
        let launched = try clients[0].launch(Self.app, ["exit", "3"])
        #expect(try clients[0].wait(launched.instance).status == 3)
    }

    @Test func `a message of 8 MiB is accepted, and one byte more is refused with the limit`()
        throws
    {
        let daemon = try daemon()
        let client = try daemon.client()
        send(call(byteCount: 8 << 20), to: client)
        #expect(try message(to: client).contains(Self.app))
        send(call(byteCount: 8 << 20 + 1), to: client)
        #expect(try message(to: client) == refusal("bytes in one message", 8 << 20))
        try client.awaitClose()
        #expect(try daemon.client().list().count == 1)
    }

    @Test
    func `the partial messages of one user have a common limit, which drops the largest first`()
        throws
    {
        let daemon = try daemon()
        let (other, modest) = (try daemon.client(), try daemon.client())
        let half = call(byteCount: 15 << 19).dropLast(2)
        send(call(byteCount: 1000).dropLast(2), to: modest)
        let greedy = try (0..<9).map { _ in try daemon.client() }
        for client in greedy { send(half, to: client) }
        // This makes 67.5 MiB: one of them is dropped; the others and the modest client go on.
        let answers = try greedy.map { client in
            send([UInt8(ascii: "}"), 0], to: client)
            return try message(to: client)
        }
        let refusal = refusal("bytes waiting on one user's connections", 64 << 20)
        #expect(answers.count { $0.contains(Self.app) } == 8)
        #expect(answers.count { $0 == refusal } == 1)
        send([UInt8(ascii: "}"), 0], to: modest)
        #expect(try message(to: modest).contains(Self.app))
        #expect(try other.list().count == 1)
    }

    @Test func `300 descriptors are refused with the limit and closed`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        // The process that closes descriptors starts with the first one.
        _ = try other.call(.list, descriptors: [null])
        let before = try closedDescriptorCount(daemon, other)
        let client = try daemon.client()
        // The kernel takes at most 253 at once.
        try client.send(.list, descriptors: [Int32](repeating: null, count: 253))
        try? client.send(.list, descriptors: [Int32](repeating: null, count: 47))
        let error = control { _ = try client.reply(to: .list) }
        #expect(error == .limitExceeded(what: "descriptors with one message", limit: 48))
        try client.awaitClose()
        try awaitDescriptors(of: daemon, other, atMost: before)
    }

    @Test
    func `the descriptors of one user that wait have a common limit, and are closed in the end`()
        throws
    {
        let daemon = try daemon()
        let other = try daemon.client()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        _ = try other.call(.list, descriptors: [null])
        let before = try closedDescriptorCount(daemon, other)
        var clients: [TestClient] = []
        var refused: TestClient?
        // Each message has fewer descriptors than are allowed, and never ends.
        while refused == nil, clients.count < 50 {
            let client = try getuid() == 0 ? connect(daemon) : daemon.client()
            let sent = cts_send(client.descriptor, "{", 1, [Int32](repeating: null, count: 40), 40)
            try #require(sent == 1)
            clients.append(client)
            // Another user is served meanwhile, after earlier calls.
            for _ in 0..<2 { #expect(try other.list().count == 1) }
            refused = try clients.first {
                try FileDescriptor(owning: dup($0.descriptor)).waitUntilReadable(milliseconds: 0)
            }
        }
        let refusal = refusal("descriptors waiting on one user's connections", 1024)
        #expect(try message(to: #require(refused)) == refusal)
        #expect(clients.count == 1024 / 40 + 1)
        refused = nil
        clients = []
        try awaitDescriptors(of: daemon, other, atMost: before)
    }

    /// No event reports that the helper process has closed them; under load there may be a second
    /// helper.
    private func awaitDescriptors(of daemon: TestDaemon, _ client: TestClient, atMost most: Int)
        throws
    {
        let end = ContinuousClock.now.advanced(by: .milliseconds(Processes.deadline))
        while try closedDescriptorCount(daemon, client) > most {
            try #require(ContinuousClock.now < end, "more than \(most) descriptors stay open")
        }
    }

    /// The lowest of several counts.
    private func closedDescriptorCount(_ daemon: TestDaemon, _ client: TestClient) throws -> Int {
        var count = Int.max
        for _ in 0..<200 {
            _ = try client.list()
            count = min(count, KernelObjects.descriptorCount(of: try daemon.pid))
        }
        return count
    }

    @Test func `a client that never reads is no longer read from, and others are answered`() throws
    {
        let daemon = try daemon()
        let (deaf, other) = (try daemon.client(), try daemon.client())
        let flags = fcntl(deaf.descriptor, F_GETFL)
        _ = fcntl(deaf.descriptor, F_SETFL, flags | O_NONBLOCK)
        let calls = Array(
            repeatElement(
                Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8) + [0], count: 1000
            ).joined())
        var sent = 0
        // Ends when the daemon accepts nothing more between two answers to another client.
        while true {
            let count = calls.withUnsafeBytes {
                Glibc.send(deaf.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            #expect(try other.list().count == 1)
            if count <= 0 {
                var quiet = 0
                var entry = pollfd(fd: deaf.descriptor, events: Int16(POLLOUT), revents: 0)
                while quiet < 100, poll(&entry, 1, 0) == 0 {
                    _ = try other.list()
                    quiet += 1
                }
                if quiet == 100 { break }
            } else {
                sent += count
            }
        }
        #expect(sent < 4 << 20)
        #expect(try daemon.client().list().count == 1)
    }

    @Test func `a flood of calls is answered in order, and other clients in between`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let floods = try (0..<8).map { _ in try daemon.client() }
        for flood in floods {
            for _ in 0..<200 { try flood.send(.describe) }
        }
        for _ in 0..<50 { #expect(try other.list().count == 1) }
        for flood in floods {
            for _ in 0..<200 { _ = try flood.reply(to: .describe) }
        }
    }

    /// Each client has replies that fill its socket, and more calls; the client that is served
    /// first reads while the others have their turns.
    @Test func `a client that reads while it waits for its turn does not delay the others`() throws
    {
        let daemon = try daemon()
        let call = Array(
            (#"{"method":"org.varlink.service.GetInterfaceDescription","#
                + #""parameters":{"interface":"io.greenroom.Control"}}"#).utf8)
        let count = 16
        let calls = Array(repeating: call + [0], count: count).flatMap(\.self)
        let floods = try (0..<40).map { _ in try daemon.client() }
        // All calls have arrived when the daemon looks at the first.
        kill(try daemon.pid, SIGSTOP)
        for flood in floods { try flood.send(bytes: calls) }
        kill(try daemon.pid, SIGCONT)
        // The turn of the first is over when the second has had its own.
        for flood in floods[..<2] { awaitNine(flood) }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        for flood in floods {
            var missing = count
            while missing > 0 {
                var entry = [PollEntry(flood.descriptor, CInt(POLLIN))]
                try #require(
                    try PollEntry.wait(&entry, milliseconds: Processes.deadline) > 0,
                    "\(missing) replies are missing")
                let byteCount = read(flood.descriptor, &buffer, buffer.count)
                try #require(byteCount > 0)
                missing -= buffer[..<byteCount].count { $0 == 0 }
            }
        }
    }

    /// Waits until nine replies can be read (SIOCINQ, unix(7)), which is the capacity of the
    /// socket. A turn serves four calls, so then three replies wait in the daemon, and four calls
    /// wait for their turn.
    private func awaitNine(_ client: TestClient) {
        let end = ContinuousClock.now.advanced(by: .milliseconds(Processes.deadline))
        var waiting: CInt = 0
        while waiting < 200_000, ContinuousClock.now < end {
            _ = ioctl(client.descriptor, UInt(FIONREAD), &waiting)
            poll(nil, 0, 1)
        }
        #expect(waiting >= 200_000)
    }

    @Test func `calls of a client that left at once are still performed`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let launched = try other.launch(Self.app, ["wait-forever"])
        do {
            // There are more calls than are served in one turn.
            let list = #"{"method":"io.greenroom.Control.List","oneway":true}"#
            let signal =
                #"{"method":"io.greenroom.Control.Signal","oneway":true,"#
                + #""parameters":{"instance":\#(launched.instance),"signal":9}}"#
            let calls = Array(repeating: list, count: 50) + [signal]
            send(calls.flatMap { Array($0.utf8) + [0] }, to: try daemon.client())
        }
        #expect(try other.wait(launched.instance).signal == SIGKILL)
    }

    @Test func `launches of clients that left are limited by the bytes that they sent`() throws {
        var options = TestDaemon.Options()
        // No launch is given up while the others arrive, however slowly.
        options.configuration = ["LaunchDeadlineSec=600"]
        let daemon = try daemon(options)
        let watcher = try daemon.watch()
        let spawner = try daemon.spawnerPid
        var launch = Control.LaunchCall(app: Self.app)
        launch.arguments = ["exit", "0"]
        launch.callerEnvironment = (0..<32).map {
            .text("N\($0)=" + String(repeating: "x", count: 32 << 10))
        }
        kill(spawner, SIGSTOP)
        defer { kill(spawner, SIGCONT) }
        for _ in 0..<70 {
            let client = try daemon.client()
            try client.send(.launch(launch))
        }
        let error = control { _ = try daemon.client().launch(launch) }
        #expect(
            error
                == .limitExceeded(
                    what: "bytes in launches of one user under way", limit: 64 << 20))
        kill(spawner, SIGCONT)
        try watcher.next { $0.kind == .launched }
        let client = try daemon.client()
        let launched = try client.launch(launch)
        #expect(try client.wait(launched.instance).status == 0)
    }
}
