import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Every kind of socket on which the daemon listens for apps, and the events that the sockets
/// outlive.
@Suite struct SocketKindTests {
    private static let app = "org.example.app"

    private func make(_ lines: [String], _ words: String = "serve") throws -> TestApp {
        TestApp(
            Self.app, exec: "\(try compileProbe("accept.c")) \(words)",
            prewarmLines: ["[Socket]"] + lines)
    }

    /// Connects, or sends a datagram, and returns the first line of the answer.
    private func ask(_ type: __socket_type, _ address: String, port: Int32 = 0) throws -> String {
        let number = unsafe cts_dial(Int32(type.rawValue), address, port)
        guard number >= 0 else { throw SystemError(code: -number, call: "connect") }
        let socket = FileDescriptor(owning: number)
        // With other types, connecting is enough, and data that the app does not read would reset
        // the connection.
        if type == SOCK_DGRAM { send(number, "?", 1, Int32(MSG_NOSIGNAL)) }
        guard try socket.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("nobody answers at \(address)")
        }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = recv(number, &buffer, buffer.count, 0)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `TCP connections and UDP datagrams launch the app`(host: String) throws {
        try requireOrSkip(
            host != "::1" || access("/proc/net/if_inet6", F_OK) == 0, "no IPv6 on this machine")
        let port = Int32.random(in: 20_000..<32_000)
        let written = host == "::1" ? "[::1]:\(port)" : "\(host):\(port)"
        let streams = try TestDaemon(try make(["ListenStream=\(written)"]))
        #expect(try ask(SOCK_STREAM, host, port: port).hasSuffix(" 1 \(Self.app)\n"))
        withExtendedLifetime(streams) {}
        let datagrams = try TestDaemon(try make(["ListenDatagram=\(written)"], "answer"))
        #expect(try ask(SOCK_DGRAM, host, port: port).hasSuffix(" 1 \(Self.app)\n"))
        withExtendedLifetime(datagrams) {}
    }

    @Test func `abstract names, datagrams and packets launch the app`() throws {
        let directory = try TemporaryDirectory()
        let name = "@greenroom-test-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        for (key, type, address, words) in [
            ("ListenStream", SOCK_STREAM, name, "serve"),
            ("ListenDatagram", SOCK_DGRAM, directory.path + "/datagrams", "answer"),
            ("ListenSequentialPacket", SOCK_SEQPACKET, directory.path + "/packets", "serve"),
        ] {
            let daemon = try TestDaemon(try make(["\(key)=\(address)"], words))
            #expect(try ask(type, address).hasSuffix(" 1 \(Self.app)\n"), "\(key)")
            withExtendedLifetime(daemon) {}
        }
    }

    @Test(arguments: [true, false])
    func `socket files have the manifest's owner and mode, and are removed with it if it says so`(
        isRemoved: Bool
    ) throws {
        try requireOrSkip(getuid() == 0, "only root can give sockets to others")
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(
            try make([
                "ListenStream=\(path)", "SocketMode=0620", "SocketUser=65534", "SocketGroup=12345",
                "RemoveOnStop=\(isRemoved ? "yes" : "no")",
            ]))
        var status = stat()
        #expect(unsafe stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o620)
        #expect(status.st_uid == 65_534 && status.st_gid == 12_345)
        unlink("\(daemon.appDirectory)/\(Self.app).app")
        #expect(try daemon.client().reload().loaded.isEmpty)
        #expect((access(path, F_OK) != 0) == isRemoved)
    }

    @Test func `a mode that changes in the manifest is given to the existing socket`()
        throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try make(["ListenStream=\(path)", "SocketMode=0666"]))
        try daemon.install(try make(["ListenStream=\(path)", "SocketMode=0600"]))
        #expect(try daemon.client().reload().failed.isEmpty)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        // A mode that changes while no supervisor runs has the same effect.
        try daemon.kill()
        try daemon.install(try make(["ListenStream=\(path)", "SocketMode=0640"]))
        try daemon.start()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(try ask(SOCK_STREAM, path).hasSuffix(" 1 \(Self.app)\n"))
    }

    /// A socket that nobody held, but the spawner kept, would have kept the address, too.
    @Test func `a socket that could not be given its mode is made anew by a later reload`() throws {
        let directory = try TemporaryDirectory()
        let (folder, away) = (directory.path + "/folder", directory.path + "/away")
        #expect(mkdir(folder, 0o755) == 0)
        let path = folder + "/front"
        let daemon = try TestDaemon(try make(["ListenStream=\(path)", "SocketMode=0666"]))
        #expect(rename(folder, away) == 0)
        try daemon.install(try make(["ListenStream=\(path)", "SocketMode=0600"]))
        #expect(try daemon.client().reload().failed.count == 1)
        #expect(rename(away, folder) == 0)
        try daemon.await("the socket") { client in
            try client.reload().failed.isEmpty ? true : nil
        }
        #expect(try ask(SOCK_STREAM, path).hasSuffix(" 1 \(Self.app)\n"))
    }

    @Test func `a reload tries again to make a socket whose address was taken`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let other = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        let daemon = try TestDaemon(try make(["ListenStream=\(path)"]))
        #expect(try daemon.client().reload().failed.count == 1)
        Glibc.close(other.descriptor.release())
        unlink(path)
        #expect(try daemon.client().reload().failed.isEmpty)
        #expect(try ask(SOCK_STREAM, path).hasSuffix(" 1 \(Self.app)\n"))
    }

    @Test(arguments: [SIGKILL, SIGUSR1])
    func `a spawner that dies or executes itself again loses no socket`(signal: Int32) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/front"
        let daemon = try TestDaemon(try make(["ListenStream=\(path)"]))
        let spawner = try daemon.spawnerPid
        Glibc.kill(spawner, signal)
        if signal == SIGKILL { try Processes.awaitEnd(of: spawner) }
        #expect(try ask(SOCK_STREAM, path).hasSuffix(" 1 \(Self.app)\n"))
        #expect((try daemon.spawnerPid == spawner) == (signal == SIGUSR1))
        // The next supervisor gets the sockets that the spawner keeps now.
        try daemon.kill()
        try daemon.start()
        #expect(try ask(SOCK_STREAM, path).hasSuffix(" 1 \(Self.app)\n"))
    }
}
