import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// `[Path]`: files that launch an app when they appear or change.
@Suite struct `Paths of apps` {
    private static let app = "org.example.app"
    private static let launched = "launch path background unlocked"

    /// A daemon whose probe has these lines in `[Path]`, with `@` for the test's folder.
    private func daemon(_ lines: String...) throws -> (TestDaemon, Probe) {
        let daemon = try TestDaemon([])
        var probe = Probe(Self.app)
        let path = daemon.directory.path + "/watched"
        mkdir(path, 0o755)
        probe.sections =
            ["[Path]"]
            + lines.map { $0.split(separator: "@").joined(separator: path) }
        try probe.install(in: daemon)
        let report = try daemon.client().reload()
        #expect(report.failed.isEmpty)
        return (daemon, probe)
    }

    /// Returns the instance that is launched for the next event.
    private func awaitLaunch(_ watcher: EventWatcher) throws -> UInt64 {
        let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
        let instance = try #require(launched.instance)
        try watcher.awaitState(.background, of: instance)
        return instance
    }

    @Test func `a file that appears in a new folder launches the app`() throws {
        let (daemon, probe) = try daemon("PathExists=@/one/two/three")
        let watcher = try daemon.watch()
        for folder in ["one", "one/two"] {
            mkdir(daemon.directory.path + "/watched/" + folder, 0o755)
        }
        try daemon.directory.write("", to: "watched/one/two/three")
        let instance = try awaitLaunch(watcher)
        #expect(probe.told(in: daemon).first == Self.launched)
        // The file is gone when the app ends, so nothing is launched.
        unlink(daemon.directory.path + "/watched/one/two/three")
        try daemon.client().change(.terminate, instance)
        try expectNoLaunch(watcher)
        // The file is renamed into place.
        try daemon.directory.write("", to: "watched/new")
        rename(
            daemon.directory.path + "/watched/new",
            daemon.directory.path + "/watched/one/two/three")
        _ = try awaitLaunch(watcher)
    }

    private func expectNoLaunch(_ watcher: EventWatcher) throws {
        #expect(throws: (any Error).self) {
            while true { if try watcher.next(milliseconds: 500).kind == .launched { return } }
        }
    }

    @Test func `an existing path launches the app, and again after each end, up to the limit`()
        throws
    {
        let (daemon, probe) = try daemon(
            "PathExists=/dev/null", "TriggerLimitBurst=3", "TriggerLimitIntervalSec=1h")
        for count in 1...3 {
            let instance = try daemon.await("launch \(count)") { client in
                try client.instances(of: Self.app).first {
                    $0.state == .background || $0.state == .suspended
                }
            }
            #expect(probe.told(in: daemon).count { $0 == Self.launched } == count)
            try daemon.client().change(.terminate, instance.instance)
        }
        try daemon.await("the complaint") { _ in
            daemon.log.contains("its paths launched it 3 times") ? true : nil
        }
        #expect(probe.told(in: daemon).count { $0 == Self.launched } == 3)
        // A reload lets the paths launch the app again.
        _ = try daemon.client().reload()
        try daemon.await("another launch") { _ in
            probe.told(in: daemon).count { $0 == Self.launched } == 4 ? true : nil
        }
    }

    @Test func `a pattern and a directory that is not empty launch the app`() throws {
        for line in ["PathExistsGlob=@/*.job", "DirectoryNotEmpty=@/"] {
            let (daemon, probe) = try daemon(line)
            let watcher = try daemon.watch()
            #expect(probe.told(in: daemon).isEmpty)
            try daemon.directory.write("", to: "watched/1.job")
            _ = try awaitLaunch(watcher)
            #expect(probe.told(in: daemon).first == Self.launched, "\(line)")
        }
    }

    @Test func `a changed path triggers when its file is closed, a modified path at each write`()
        throws
    {
        for (line, isModified) in [("PathChanged=@/file", false), ("PathModified=@/file", true)] {
            let (daemon, probe) = try daemon(line)
            let watcher = try daemon.watch()
            let path = daemon.directory.path + "/watched/file"
            // The creation of the file is also a change.
            let file = open(path, O_WRONLY | O_CREAT, 0o644)
            let first = try awaitLaunch(watcher)
            try daemon.client().change(.terminate, first)
            _ = try daemon.client().wait(first)
            write(file, "x", 1)
            if isModified {
                let second = try awaitLaunch(watcher)
                try daemon.client().change(.terminate, second)
                _ = try daemon.client().wait(second)
            } else {
                try expectNoLaunch(watcher)
            }
            close(file)
            let last = isModified ? nil : try awaitLaunch(try daemon.watch(), orRunning: daemon)
            _ = last
            #expect(probe.told(in: daemon).first == Self.launched)
        }
    }

    private func awaitLaunch(_ watcher: EventWatcher, orRunning daemon: TestDaemon) throws -> UInt64
    {
        try daemon.await("a launch") { client in
            try client.instances(of: Self.app).first { $0.state == .background }?.instance
        }
    }

    @Test func `an instance of a template is launched by its own paths and kept while it waits`()
        throws
    {
        let daemon = try TestDaemon([])
        let path = daemon.directory.path + "/watched"
        var probe = Probe("org.example.template@")
        probe.sections = ["[Path]", "PathExists=\(path)/%i"]
        try probe.install(in: daemon)
        mkdir(path, 0o755)
        let client = try daemon.client()
        #expect(try client.reload().failed.isEmpty)
        let name = "org.example.template@one"
        let launched = try client.launch(name) { $0.isBackground = true }
        try client.change(.terminate, launched.instance)
        _ = try client.wait(launched.instance)
        let watcher = try daemon.watch()
        try daemon.directory.write("", to: "watched/one")
        try watcher.next { $0.kind == .launched && $0.app == name }
        // A call of list does not make the daemon forget the instance.
        #expect(try client.list().map(\.identifier) == [name])
    }

    @Test func `paths are no longer watched when their manifest is removed`() throws {
        let (daemon, probe) = try daemon("PathExists=@/file")
        var plain = probe
        plain.sections = []
        try plain.install(in: daemon)
        _ = try daemon.client().reload()
        let watcher = try daemon.watch()
        try daemon.directory.write("", to: "watched/file")
        try expectNoLaunch(watcher)
    }
}
