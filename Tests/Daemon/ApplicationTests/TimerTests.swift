import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Calendar timers, and the facts about timers that outlive the daemon.
@Suite struct `Timers of apps` {
    private static let app = "org.example.app"

    private func probe(_ timer: String...) -> Probe {
        var probe = Probe(Self.app)
        probe.timer = timer
        return probe
    }

    @Test func `a timer that came due during sleep elapses once, when a daemon runs again`() throws
    {
        try requireOrSkip(getuid() == 0, "only root can make a time namespace")
        let probe = probe("OnActiveSec=1h", "OnUnitActiveSec=1h")
        let daemon = try TestDaemon.with(probe)
        try daemon.kill()
        // Three hours pass on the clock that counts sleep, and only a moment on the other.
        daemon.wrapper = [try compileProbe("after-sleep.c"), "11000"]
        try daemon.start()
        try daemon.await("its launch") { client in
            try client.instances(of: Self.app).isEmpty ? nil : true
        }
        let instance = try #require(try daemon.client().instances(of: Self.app).first)
        try daemon.awaitState(.background, of: instance.instance)
        try daemon.client().change(.kill, instance.instance)
        let watcher = try daemon.watch()
        #expect(throws: (any Error).self) { try watcher.next(milliseconds: 500) }
        #expect(probe.told(in: daemon).count { $0.hasPrefix("launch") } == 1)
    }

    /// Awaits the next launch and ends its instance.
    private func awaitLaunch(_ watcher: EventWatcher, _ daemon: TestDaemon) throws {
        let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
        let instance = try #require(launched.instance)
        try watcher.awaitState(.background, of: instance)
        try daemon.client().change(.terminate, instance)
    }

    @Test func `a calendar expression launches an app in the background, again and again`() throws {
        let probe = probe("OnCalendar=*:*:*")
        let daemon = try TestDaemon.with(probe)
        let watcher = try daemon.watch()
        for _ in 0..<2 { try awaitLaunch(watcher, daemon) }
        #expect(
            probe.told(in: daemon).prefix(2) == [
                "launch timer background unlocked", "didEnterBackground",
            ])
    }

    @Test func `a persistent timer makes up for a missed time once`() throws {
        let now = time(nil)
        // None of these times comes while the test runs.
        let minute = (now / 60 + 15) % 30
        for isPersistent in [true, false] {
            let probe = probe(
                "OnCalendar=*-*-* *:\(minute):00", "OnCalendar=*-*-* *:\(minute + 30):00",
                "Persistent=\(isPersistent ? "yes" : "no")")
            let daemon = try TestDaemon.with(probe)
            let stamp = daemon.directory.path + "/state/timers/\(Self.app)"
            #expect((access(stamp, F_OK) == 0) == isPersistent)
            try daemon.kill()
            mkdir(daemon.directory.path + "/state", 0o755)
            mkdir(daemon.directory.path + "/state/timers", 0o755)
            try daemon.directory.write("", to: "state/timers/\(Self.app)")
            // Two days ago: ninety-six of them were missed.
            let old = timespec(tv_sec: now - 2 * 86_400, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, stamp, [old, old], 0) == 0)
            try daemon.start()
            if isPersistent {
                try daemon.await("a launch") { client in
                    try client.instances().contains { $0.app == Self.app } ? true : nil
                }
                var status = stat()
                stat(stamp, &status)
                #expect(status.st_mtim.tv_sec >= now)
            }
            // After another restart, there is nothing to make up for.
            try daemon.kill()
            try daemon.start()
            let watcher = try daemon.watch()
            #expect(throws: (any Error).self) {
                while true {
                    if try watcher.next(milliseconds: 700).kind == .launched { break }
                }
            }
            let launches = probe.told(in: daemon).count { $0.hasPrefix("launch") }
            #expect(launches == (isPersistent ? 1 : 0))
        }
    }

    @Test func `a span continues where it was when the daemon starts again`() throws {
        let probe = probe("OnActiveSec=8s")
        let daemon = try TestDaemon.with(probe)
        var begun = timespec()
        clock_gettime(CLOCK_MONOTONIC, &begun)
        let known = try daemon.watch().latest
        try awaitMilliseconds(6500)
        try daemon.kill()
        try daemon.start()
        // This also works if the event came before the watch.
        let watcher = try daemon.watch(after: known)
        try awaitLaunch(watcher, daemon)
        var ended = timespec()
        clock_gettime(CLOCK_MONOTONIC, &ended)
        // If it had started from the beginning, it would have taken 14.5 s.
        let elapsed =
            (ended.tv_sec - begun.tv_sec) * 1000 + (ended.tv_nsec - begun.tv_nsec) / 1_000_000
        #expect(elapsed < 14_000, "\(elapsed) ms")
        // The timer has elapsed, and does not elapse again.
        try daemon.kill()
        try daemon.start()
        let next = try daemon.watch()
        #expect(throws: (any Error).self) { try next.next(milliseconds: 8500) }
        #expect(probe.told(in: daemon).count { $0.hasPrefix("launch") } == 1)
    }

    @Test(arguments: ["OnCalendar=25:00", "OnCalendar=10:00 Europe/Nowhere", "OnCalendar=Mon.."])
    func `an invalid calendar expression is an error with its place`(line: String) throws {
        let daemon = try TestDaemon.with(probe())
        var wrong = probe(line)
        wrong.lines = []
        try wrong.install(in: daemon)
        let report = try daemon.client().reload()
        let fault = try #require(report.failed.first)
        #expect(fault.message.hasPrefix("OnCalendar="))
        #expect(fault.line > 0)
    }
}

@Suite struct `Significant changes of the time` {
    @Test func `running apps learn of another time zone at once, suspended apps later`() throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "zone")
        let probe = Probe("org.example.app")
        let daemon = try TestDaemon.with(probe, environment: ["TZ=:\(folder.path)/zone"])
        let client = try daemon.client()
        let instance = try client.launch("org.example.app").instance
        try daemon.awaitState(.active, of: instance)
        // Puts another file under the name, as timedatectl(1) does.
        try folder.write("", to: "new")
        rename(folder.path + "/new", folder.path + "/zone")
        // The app is told in order, so any notice would come before this answer.
        _ = try client.describe()
        try client.change(.background, instance)
        #expect(
            probe.told(in: daemon).dropFirst() == [
                "didBecomeActive", "significantTimeChange", "willResignActive",
                "didEnterBackground",
            ])
        try client.change(.suspend, instance)
        try folder.write("other", to: "zone")
        _ = try client.describe()
        try client.change(.foreground, instance)
        #expect(probe.told(in: daemon).dropFirst(5).contains("significantTimeChange"))
    }
}

/// Waits, because these tests are about time itself.
func awaitMilliseconds(_ count: Int32) throws {
    let pipe = try Pipe()
    var entries = [PollEntry(pipe.readEnd, POLLIN)]
    _ = try PollEntry.wait(&entries, milliseconds: count)
}
