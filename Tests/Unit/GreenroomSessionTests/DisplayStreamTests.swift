import Glibc
import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomSession

/// How the end of a connection to a display server is told from the end of the session.
@Suite struct DisplayStreamTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path + "/display" }
    init() throws { folder = try TemporaryDirectory() }

    /// Ends a server, even if a child of another test has a copy of its socket until its exec.
    private func end(_ server: inout UnixSocket?) {
        if let server { shutdown(server.descriptor.rawValue, CInt(SHUT_RDWR)) }
        server = nil
    }

    private func failure(_ work: () throws(DisplayFailure) -> Void) throws -> DisplayFailure {
        do throws(DisplayFailure) { try work() } catch { return error }
        throw TestError("the display has not failed")
    }

    @Test func `a server that is stopped is silent, and the session goes on`() throws {
        let server = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        let stream = try DisplayStream(path: path, patience: 20)
        let bytes = [UInt8](repeating: 0, count: 8 << 20)
        for failed in [
            try failure { () throws(DisplayFailure) in _ = try stream.take(1) },
            try failure { () throws(DisplayFailure) in try stream.send(bytes) },
        ] {
            #expect("\(failed)" == "the display server does not answer")
            #expect(!failed.isEnd && UnusableSession(failed).isTemporary)
        }
        withExtendedLifetime(server) {}
    }

    @Test func `a server that ends one connection is still there, and one that ends is not`()
        throws
    {
        var server: UnixSocket? = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        let stream = try DisplayStream(path: path, patience: Patience.milliseconds)
        var accepted = try #require(try server?.accept()) as UnixSocket?
        accepted = nil
        let failed = try failure { () throws(DisplayFailure) in _ = try stream.take(1) }
        #expect("\(failed)" == "the display server has ended the connection")
        #expect(!failed.isEnd && UnusableSession(failed).isTemporary)
        end(&server)
        #expect(failed.isEnd)
        unlink(path)
        #expect(failed.isEnd)
        withExtendedLifetime((server, accepted)) {}
    }

    @Test(arguments: [false, true], [SessionProgram.foreground, .launchScreen])
    func `a program that loses its connection while it starts looks whether the session is over`(
        isOver: Bool, program: SessionProgram
    ) throws {
        let server = try ThreadServer(at: path) { listener in if isOver { end(&listener) } }
        let options = try SessionOptions([], of: program) { ["WAYLAND_DISPLAY": path][$0] }
        let failed = #expect(throws: UnusableSession.self) {
            switch program {
            case .foreground: _ = try ForegroundReporter(options)
            case .launchScreen: _ = try LaunchScreenPresenter(options)
            }
        }
        #expect(failed?.description == "the display server has ended the connection")
        #expect(failed?.isTemporary == !isOver)
        server.join()
    }
}

/// A server with one client, in a thread of its own.
private final class ThreadServer {
    private var listener: UnixSocket?
    private let serve: (inout UnixSocket?) -> Void
    private var thread = pthread_t()

    /// - Parameter serve: is given the listening socket while there is a client, and may close it.
    init(at path: String, serve: @escaping (inout UnixSocket?) -> Void) throws {
        listener = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        self.serve = serve
        pthread_create(
            &thread, nil,
            { context in
                Unmanaged<ThreadServer>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
    }

    func join() { pthread_join(thread, nil) }

    private func run() {
        guard let descriptor = listener?.descriptor.rawValue else { return }
        _ = try? PollEntry.wait(for: descriptor, POLLIN, milliseconds: Patience.milliseconds)
        guard let client = try? listener?.accept(nonblocking: false) else { return }
        serve(&listener)
        withExtendedLifetime(client) {}
    }
}
