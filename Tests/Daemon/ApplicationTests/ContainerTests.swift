import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// An app's own folders.
@Suite struct `The container of an app` {
    private static func app(_ lines: String..., prewarm: Int = 0) -> KitApp {
        var app = KitApp(prewarm: prewarm)
        app.delegate = "state"
        app.environment = ["PROBE_WRITE=1"]
        app.lines = lines
        return app
    }

    private static let written = [
        "STATE_DIRECTORY true written true", "CACHE_DIRECTORY true written true",
        "TMPDIR true written true",
    ]

    private static func paths(_ kit: KitDaemon) -> [String] {
        let (root, app) = (kit.daemon.directory.path, kit.app.identifier)
        return [
            "\(root)/state/containers/\(app)", "\(root)/cache/\(app)/cache",
            "\(root)/cache/\(app)/tmp",
        ]
    }

    @Test(arguments: KitApp.starts)
    func `the container exists when the app runs, and nobody else can enter it`(prewarm: Int) throws
    {
        let kit = try KitDaemon(Self.app(prewarm: prewarm))
        try kit.launch()
        #expect(kit.said.filter { $0.contains("written") } == Self.written)
        for path in Self.paths(kit) {
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o700)
            #expect(status.st_uid == getuid())
        }
    }

    @Test func `the container belongs to the app's user, whatever user the daemon runs as`() throws
    {
        try requireOrSkip(getuid() == 0, "another user's files need root")
        let kit = try KitDaemon(Self.app("User=daemon"))
        // The log is the daemon's.
        chmod(kit.daemon.directory.path, 0o777)
        try kit.launch()
        #expect(kit.said.filter { $0.contains("written") } == Self.written)
        for path in Self.paths(kit) {
            var status = stat()
            #expect(lstat(path + "/file", &status) == 0)
            #expect(status.st_uid == 1)
        }
    }

    @Test func `a confined app can write to its container`() throws {
        try requireOrSkip(getuid() == 0, "a mount namespace needs root")
        let kit = try KitDaemon(Self.app())
        var app = Self.app()
        app.application.append(
            "\n[Sandbox]\nProtectSystem=strict\nReadWritePaths=\(kit.daemon.directory.path)"
        )
        try kit.reinstall(app)
        try kit.launch()
        #expect(kit.said.filter { $0.contains("written") } == Self.written)
    }

    @Test func `the container loses only its temporary files when the app has ended`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        let files = Self.paths(kit).map { $0 + "/file" }
        #expect(files.allSatisfy { access($0, F_OK) == 0 })
        try kit.end()
        try awaitChange(in: Self.paths(kit)[2], "the temporary file to go") {
            access(files[2], F_OK) != 0
        }
        #expect(files[..<2].allSatisfy { access($0, F_OK) == 0 })
        #expect(access(Self.paths(kit)[2], F_OK) == 0)
    }

    @Test func `the container loses its temporary files after a reboot`() throws {
        let kit = try KitDaemon(Self.app())
        try kit.launch()
        try kit.daemon.terminate()
        let folder = Self.paths(kit)[2]
        mkdir(folder + "/sub", 0o700)
        close(open(folder + "/sub/file", O_WRONLY | O_CREAT, 0o600))
        // Files that are newer than the order to empty the folder are kept.
        try kit.daemon.start()
        try awaitChange(in: folder, "the temporary files to go") {
            access(folder + "/sub", F_OK) != 0
        }
    }

    @Test func `a container is made only for a program whose manifest asks for it`() throws {
        let script = "#!/bin/sh\necho \"$STATE_DIRECTORY $TMPDIR\" > $OUT\n"
        let daemon = try TestDaemon()
        let path = try daemon.directory.write(script, to: "script")
        chmod(path, 0o755)
        for (name, lines) in [("org.example.with", "Container=yes"), ("org.example.without", "")] {
            let out = "\(daemon.directory.path)/\(name)"
            try daemon.directory.write(
                "[App]\nExec=\(path)\nEnvironment=OUT=\(out)\n\(lines)\n[Prewarm]\nDepth=none\n",
                to: "apps/\(name).app")
            let client = try daemon.client()
            _ = try client.reload()
            _ = try client.wait(try client.launch(name).instance)
            let text = String(decoding: try readFile(out), as: UTF8.self)
            let root = daemon.directory.path
            #expect(
                text
                    == (lines.isEmpty
                        ? " \n"
                        : "\(root)/state/containers/\(name) \(root)/cache/\(name)/tmp\n"))
        }
    }
}
