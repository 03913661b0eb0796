import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// Sockets that are made in folders where others may write.
@Suite struct SocketFileTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path + "/socket" }

    init() throws { folder = try TemporaryDirectory() }

    private func kind(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    @Test func `a socket file without a listener is replaced, and a file of another kind stays`()
        throws
    {
        let address = try #require(SocketAddress(path))
        do {
            let abandoned = try ListeningSocket.open(.stream, at: address, mode: 0o600)
            // A child of another test may have a copy until its exec.
            shutdown(abandoned.descriptor.rawValue, CInt(SHUT_RDWR))
        }
        #expect(kind(path) == S_IFSOCK)
        let open = try ListeningSocket.open(.stream, at: address, mode: 0o640)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o640)
        #expect(throws: SystemError.self) {
            try ListeningSocket.open(.stream, at: address, mode: 0o600)
        }
        withExtendedLifetime(open) {}
        try folder.write("mine", to: "file")
        let file = folder.path + "/file"
        #expect(throws: SystemError.self) {
            try ListeningSocket.open(.stream, at: .path(file), mode: 0o600)
        }
        #expect(try readFile(file) == Array("mine".utf8))
        let link = folder.path + "/link"
        symlink(path, link)
        #expect(throws: SystemError.self) {
            try ListeningSocket.open(.stream, at: .path(link), mode: 0o600)
        }
        #expect(kind(link) == S_IFLNK)
    }

    /// connect(2) to this listener would wait.
    @Test func `a listener that accepts no connection is not waited for`() throws {
        let address = SocketAddress.path(path)
        let busy = try ListeningSocket.open(.stream, at: address, mode: 0o600, backlog: 0)
        var clients: [UnixSocket] = []
        while let client = try? UnixSocket.connect(to: path, .stream, nonblocking: true) {
            clients.append(client)
        }
        #expect(throws: SystemError.self) {
            try ListeningSocket.open(.stream, at: address, mode: 0o600)
        }
        withExtendedLifetime((busy, clients)) {}
    }

    @Test func `an owner that may not be set leaves no file behind`() throws {
        try requireOrSkip(geteuid() != 0, "root may give files to anybody")
        #expect(throws: SystemError.self) {
            try ListeningSocket.open(.stream, at: .path(path), mode: 0o600, user: 0)
        }
        #expect(kind(path) == 0)
    }
}
