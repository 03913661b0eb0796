import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Attacks of a user by paths that a daemon opens as root: credentials, sockets, manifests and its
/// own directory. Each of them once succeeded.
@Suite struct PathAttackTests {
    private let own = "org.example.own"
    private static let user: Int32 = 64_103

    private func daemon(_ apps: TestApp...) throws -> TestDaemon {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        return try TestDaemon(apps)
    }

    private func client(_ daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, Self.user, Self.user, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// Makes two files below the daemon's folder: `secret`, which belongs to root, and `theirs`,
    /// the user's folder.
    private func lay(out daemon: TestDaemon) throws {
        let path = daemon.directory.path
        try daemon.directory.write("root's key", to: "secret", mode: 0o600)
        for folder in ["in", "theirs", "private"] { mkdir("\(path)/\(folder)", 0o755) }
        chmod("\(path)/private", 0o700)
        chown("\(path)/theirs", uid_t(Self.user), gid_t(Self.user))
    }

    /// Makes a link as the user.
    private func link(_ target: String, as path: String) {
        symlink(target, path)
        lchown(path, uid_t(Self.user), gid_t(Self.user))
    }

    private func template(_ lines: [String], sections: [String] = []) -> TestApp {
        var app = program("org.example.many@", "/bin/sh", ["User=\(Self.user)"] + lines)
        app.prewarmLines = sections
        return app
    }

    /// The credential `key` that a launch hands over; nil if there was no launch.
    private func credential(_ app: String, _ client: TestClient) throws -> String? {
        let pipe = try Pipe()
        let words = ["-c", "cat $CREDENTIALS_DIRECTORY/key; echo"]
        guard let launched = try? client.launch(app, words, output: pipe.writeEnd) else {
            return nil
        }
        let line = try readLine(pipe.readEnd)
        _ = try client.wait(launched.instance)
        return line
    }

    @Test(arguments: [("%I", "..-secret"), (".%I", ".-secret"), ("%i/secret", "..")])
    func `no name of a template's instance leads a credential out of its folder`(
        path: String, instance: String
    ) throws {
        let daemon = try daemon()
        try lay(out: daemon)
        try daemon.install(
            template(["LoadCredential=key:\(daemon.directory.path)/in/\(path)"]))
        _ = try daemon.client().reload()
        #expect(try credential("org.example.many@\(instance)", try client(daemon)) == nil)
        // A name that stays in the folder is accepted.
        try daemon.directory.write("for it", to: "in/x", mode: 0o600)
        if path == "%I" {
            #expect(try credential("org.example.many@x", try client(daemon)) == "for it")
        }
    }

    @Test(arguments: [("%I", "..-made"), (".%I", ".-made")])
    func `no name of a template's instance leads a socket out of its folder`(
        path: String, instance: String
    ) throws {
        let daemon = try daemon()
        try lay(out: daemon)
        let socket = "\(daemon.directory.path)/in/\(path)"
        try daemon.install(
            template(
                [], sections: ["[Socket]", "ListenStream=\(socket)", "SocketUser=\(Self.user)"]))
        _ = try daemon.client().reload()
        _ = try? client(daemon).launch("org.example.many@\(instance)", ["-c", "exit 0"])
        #expect(access(daemon.directory.path + "/made", F_OK) != 0)
    }

    @Test func `a credential in a user's folder gives no way to root's files`() throws {
        let daemon = try daemon()
        try lay(out: daemon)
        let path = daemon.directory.path
        link("\(path)/secret", as: "\(path)/theirs/token")
        try daemon.install(
            program(
                own, "/bin/sh",
                ["User=\(Self.user)", "LoadCredential=key:\(path)/theirs/token"]))
        _ = try daemon.client().reload()
        #expect(try credential(own, try client(daemon)) == nil)
        #expect(daemon.log.contains("\(path)/theirs belongs to user \(Self.user)"))
        // A link that belongs to root is followed.
        symlink("\(path)/secret", "\(path)/in/token")
        try daemon.install(
            program(
                own, "/bin/sh", ["User=\(Self.user)", "LoadCredential=key:\(path)/in/token"]))
        _ = try daemon.client().reload()
        #expect(try credential(own, try client(daemon)) == "root's key")
    }

    @Test func `a socket in a user's folder is made nowhere else`() throws {
        let daemon = try daemon()
        try lay(out: daemon)
        let path = daemon.directory.path
        link("\(path)/private", as: "\(path)/theirs/link")
        link("\(path)/secret", as: "\(path)/theirs/file")
        func listen(_ address: String) throws -> Control.ReloadReport {
            try daemon.install(
                program(
                    own, "/bin/sh",
                    [
                        "User=\(Self.user)", "[Socket]", "ListenStream=\(address)",
                        "SocketUser=\(Self.user)", "RemoveOnStop=yes",
                    ]))
            return try daemon.client().reload()
        }
        #expect(try !listen("\(path)/theirs/link/socket").failed.isEmpty)
        #expect(access("\(path)/private/socket", F_OK) != 0)
        #expect(try !listen("\(path)/theirs/file").failed.isEmpty)
        #expect(try listen("\(path)/theirs/socket").failed.isEmpty)
        var status = stat()
        #expect(lstat("\(path)/theirs/socket", &status) == 0 && status.st_uid == Self.user)
        // The path by which the socket is removed now leads to one of root's files.
        rename("\(path)/theirs", "\(path)/moved")
        link("\(path)/private", as: "\(path)/theirs")
        try daemon.directory.write("root's", to: "private/socket")
        try daemon.install(program(own, "/bin/sh", ["User=\(Self.user)"]))
        _ = try daemon.client().reload()
        #expect(access("\(path)/private/socket", F_OK) == 0)
    }

    // MARK: Manifests

    private func evilManifest() throws -> TestApp {
        program("org.example.evil", try compileProbe("behave.c"), ["User=root"])
    }

    private func loaded(_ daemon: TestDaemon) throws -> Bool {
        try daemon.client().list().contains { $0.identifier == "org.example.evil" }
    }

    // MARK: Mounts

    /// The output of one of the user's apps with these lines of `[Sandbox]`; nil if it is not
    /// launched.
    private func output(
        of command: String, _ lines: [String], _ daemon: TestDaemon, swap: () throws -> Void = {}
    ) throws -> String? {
        let sandbox = ["User=\(Self.user)", "[Sandbox]", "NoNewPrivileges=no"] + lines
        try daemon.install(program(own, "/bin/sh", sandbox))
        _ = try daemon.client().reload()
        try swap()
        let pipe = try Pipe()
        let client = try client(daemon)
        let words = ["-c", command + "; echo"]
        guard let launched = try? client.launch(own, words, output: pipe.writeEnd) else {
            return nil
        }
        let line = try readLine(pipe.readEnd)
        _ = try client.wait(launched.instance)
        return line
    }

    /// Keys whose paths are below the user's folder, where `there` was a folder when the manifest
    /// was read and is a link afterwards; each with a command that shows where the link led.
    private static let mounts = [
        ("TemporaryFileSystem=THEIRS/there", "ls /etc"),
        ("BindPaths=THEIRS/own:THEIRS/there", "ls /etc"),
        ("InaccessiblePaths=THEIRS/there", "ls /etc 2>&1"),
        ("ReadWritePaths=THEIRS/there", "ls THEIRS/there"),
        ("BindPaths=THEIRS/there:/mnt", "ls /mnt"),
        ("BindPaths=THEIRS/there/inner:/mnt", "ls /mnt"),
    ]

    /// A user who decides what is at /etc in one of the user's processes controls every set-user-ID
    /// program.
    @Test(arguments: mounts, [false, true])
    func `a link in a user's folder leads no mount elsewhere`(
        mount: (line: String, command: String), isEarly: Bool
    ) throws {
        let daemon = try daemon()
        try lay(out: daemon)
        let path = daemon.directory.path
        let inner = mount.line.contains("/inner")
        mkdir("\(path)/private/inner", 0o755)
        try daemon.directory.write("", to: "private/inner/seen", mode: 0o644)
        for name in ["own", "there", "there/inner"] {
            mkdir("\(path)/theirs/\(name)", 0o755)
            chown("\(path)/theirs/\(name)", uid_t(Self.user), gid_t(Self.user))
        }
        func real(_ text: String) -> String {
            text.replacing("THEIRS", with: "\(path)/theirs")
        }
        func swap() {
            rename("\(path)/theirs/there", "\(path)/theirs/was")
            link(inner ? "\(path)/private" : "/etc", as: "\(path)/theirs/there")
        }
        // Without the link, it works.
        let plain = try output(of: real(mount.command), [real(mount.line)], daemon)
        #expect(plain != nil)
        if isEarly { swap() }
        let line = try output(of: real(mount.command), [real(mount.line)], daemon) {
            if !isEarly { swap() }
        }
        #expect(line == nil)
        if isEarly { #expect(daemon.log.contains("\(path)/theirs belongs to user \(Self.user)")) }
    }

    @Test func `a manifest that belongs to a user is not read, wherever it is`() throws {
        let daemon = try daemon()
        try lay(out: daemon)
        let path = daemon.appDirectory + "/org.example.evil.app"
        try daemon.install(try evilManifest())
        chown(path, uid_t(Self.user), gid_t(Self.user))
        let report = try daemon.client().reload()
        #expect(try !loaded(daemon))
        #expect(report.failed.first?.message.contains("belongs to user \(Self.user)") == true)
        #expect(daemon.log.contains("belongs to user \(Self.user)"))
        // A manifest that everybody can write is not read either, and neither is a file in a user's
        // folder that one of root's links names.
        chown(path, 0, 0)
        chmod(path, 0o666)
        #expect(try !daemon.client().reload().failed.isEmpty && !loaded(daemon))
        chmod(path, 0o644)
        let theirs = daemon.directory.path + "/theirs/evil.app"
        rename(path, theirs)
        symlink(theirs, path)
        #expect(try !daemon.client().reload().failed.isEmpty && !loaded(daemon))
        unlink(path)
        rename(theirs, path)
        #expect(try daemon.client().reload().failed.isEmpty && loaded(daemon))
    }

    @Test func `a desktop entry that belongs to a user makes no app`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        var options = TestDaemon.Options()
        options.desktopFolder = true
        let daemon = try TestDaemon([], options)
        let entry = "applications/org.example.evil.desktop"
        try daemon.directory.write(
            "[Desktop Entry]\nType=Application\nName=Evil\nExec=sleep 1\n", to: entry)
        #expect(try daemon.client().reload().failed.isEmpty && loaded(daemon))
        let path = "\(daemon.directory.path)/\(entry)"
        chown(path, uid_t(Self.user), gid_t(Self.user))
        let report = try daemon.client().reload()
        #expect(try !loaded(daemon))
        #expect(report.failed.first?.message.contains("belongs to user \(Self.user)") == true)
        chown(path, 0, 0)
        chmod("\(daemon.directory.path)/applications", 0o777)
        #expect(try !daemon.client().reload().failed.isEmpty && !loaded(daemon))
    }

    @Test func `a launch screen in a user's folder is not opened`() throws {
        let daemon = try daemon()
        try lay(out: daemon)
        let path = daemon.directory.path
        link("\(path)/secret", as: "\(path)/theirs/screen")
        var app = program(own, try compileProbe("behave.c"), ["User=\(Self.user)"])
        app.prewarmLines = ["[LaunchScreen]", "Default=\(path)/theirs/screen"]
        try daemon.install(app)
        #expect(try daemon.client().reload().failed.isEmpty)
        #expect(
            daemon.log.contains(
                "launch screen \(path)/theirs/screen: \(path)/theirs belongs to user"))
    }

    @Test func `a configuration that everybody can change is not read`() throws {
        let daemon = try daemon()
        let path = daemon.directory.path + "/greenroom.conf"
        try daemon.configure(["ControlGroups=\(Self.user)"])
        chmod(path, 0o666)
        let report = try daemon.client().reload()
        #expect(report.failed.first?.message.contains("everybody") == true)
        chmod(path, 0o644)
        #expect(try daemon.client().reload().failed.isEmpty)
    }

    @Test func `a drop-in that belongs to a user is not read`() throws {
        let daemon = try daemon(
            program(own, compileProbe("behave.c"), ["User=\(Self.user)"]))
        let folder = daemon.appDirectory + "/\(own).app.d"
        mkdir(folder, 0o755)
        try daemon.directory.write("[App]\nUser=root\n", to: "apps/\(own).app.d/evil.conf")
        chown(folder + "/evil.conf", uid_t(Self.user), gid_t(Self.user))
        #expect(try !daemon.client().reload().failed.isEmpty)
        #expect(try daemon.client().list().isEmpty)
        chown(folder + "/evil.conf", 0, 0)
        chmod(folder, 0o777)
        #expect(try !daemon.client().reload().failed.isEmpty)
        #expect(try daemon.client().list().isEmpty)
    }

    @Test(arguments: ["apps", "."])
    func `manifests are not read from a folder that everybody can change`(
        folder: String
    ) throws {
        let daemon = try daemon(try evilManifest())
        #expect(try loaded(daemon))
        let path = daemon.directory.path + "/" + folder
        chmod(path, 0o777)
        let report = try daemon.client().reload()
        #expect(try !loaded(daemon))
        #expect(report.failed.first?.message.contains("everybody") == true)
        #expect(daemon.log.contains("everybody"))
        chmod(path, 0o755)
        #expect(try daemon.client().reload().failed.isEmpty && loaded(daemon))
        chown(path, uid_t(Self.user), gid_t(Self.user))
        #expect(try !daemon.client().reload().failed.isEmpty && !loaded(daemon))
        chown(path, 0, 0)
    }

    @Test func `doctor names the manifests that are not read because of their owner`() throws {
        let daemon = try daemon(try evilManifest())
        chmod(daemon.appDirectory, 0o777)
        let result = try TestSupport.run(try clientProcess(daemon, ["doctor"]))
        chmod(daemon.appDirectory, 0o755)
        #expect(
            String(decoding: result.output, as: UTF8.self).contains(
                "\(daemon.appDirectory) can be changed by everybody"))
    }

    // MARK: The daemon itself

    @Test(arguments: [(uid_t(64_103), mode_t(0o755)), (0, 0o777)])
    func `a runtime directory that belongs to another user is refused`(owner: uid_t, mode: mode_t)
        throws
    {
        let daemon = try daemon()
        try daemon.terminate()
        try daemon.forgetBoot()
        chmod(daemon.runtimeDirectory, mode)
        chown(daemon.runtimeDirectory, owner, owner)
        do {
            try daemon.start()
            Issue.record("it started")
        } catch {
            #expect("\(error)".contains("--runtime-directory"))
        }
        chown(daemon.runtimeDirectory, 0, 0)
        chmod(daemon.runtimeDirectory, 0o755)
        try daemon.start()
    }
}
