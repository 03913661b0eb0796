import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The clock is set, midnight passes, the time zone changes: timers, and `applicationSignificantTimeChange`.
@Suite struct ClockTests {
    fileprivate static let timed = "org.example.timed"
    fileprivate static let app = "org.example.app"
    private static let hour: Int64 = 3600

    /// A daemon with an app in front and another with a timer.
    private final class Stage {
        let clock: FakeClock
        let daemon: TestDaemon
        let watcher: EventWatcher
        let timed: Probe
        private let app = Probe(ClockTests.app)

        init(at time: Int64, _ timer: String..., wrapper: [String] = []) throws {
            clock = try FakeClock(at: time)
            var timed = Probe(ClockTests.timed)
            timed.timer = timer
            self.timed = timed
            daemon = try TestDaemon.with(environment: clock.environment)
            if !wrapper.isEmpty {
                try daemon.kill()
                daemon.wrapper = wrapper
                try daemon.start()
            }
            for probe in [timed, app] { try probe.install(in: daemon) }
            _ = try daemon.client().reload()
            watcher = try daemon.watch()
            let instance = try daemon.client().launch(ClockTests.app).instance
            try daemon.awaitState(.active, of: instance)
        }

        /// Returns when the app in front has been told this many times.
        func awaitTold(_ count: Int) throws {
            try awaitChange(in: daemon.directory.path, "significantTimeChange") {
                app.told(in: daemon).count { $0 == "significantTimeChange" } == count
            }
        }

        /// Returns when the timer's app has been launched, and ends it.
        func awaitLaunch() throws {
            let launched = try watcher.next { $0.kind == .launched && $0.app == ClockTests.timed }
            let instance = try #require(launched.instance)
            try daemon.awaitState(.background, of: instance)
            try daemon.client().change(.terminate, instance)
        }

        var launchCount: Int { timed.told(in: daemon).count { $0.hasPrefix("launch timer") } }
    }

    @Test
    func `a clock set past a calendar time launches the app, and again after it was set back`()
        throws
    {
        let stage = try Stage(at: 10 * Self.hour, "OnCalendar=*-*-* 12:00:00")
        try stage.clock.put(by: 2 * Self.hour + 1)
        try stage.awaitTold(1)
        try stage.awaitLaunch()
        try stage.clock.put(by: -3 * Self.hour)
        try stage.awaitTold(2)
        #expect(stage.launchCount == 1)
        try stage.clock.put(by: 3 * Self.hour)
        try stage.awaitLaunch()
        #expect(stage.launchCount == 2)
    }

    @Test func `a time zone in the expression counts, not that of the machine`() throws {
        try requireOrSkip(
            access("/usr/share/zoneinfo/Etc/GMT-14", F_OK) == 0, "there are no time zones (tzdata)")
        // Fourteen hours to the east it is midnight then, and here it is noon two hours later.
        let stage = try Stage(
            at: 9 * Self.hour, "OnCalendar=*-*-* 00:00:00 Etc/GMT-14",
            "OnCalendar=*-*-* 12:00:00")
        try stage.clock.put(by: Self.hour + 1)
        try stage.awaitLaunch()
        try stage.clock.put(by: 2 * Self.hour)
        try stage.awaitLaunch()
        #expect(stage.launchCount == 2)
    }

    @Test func `a span of time does not depend on the clock`() throws {
        let stage = try Stage(at: 10 * Self.hour, "OnActiveSec=1h")
        try stage.clock.put(by: 5 * Self.hour)
        try stage.awaitTold(1)
        _ = try stage.daemon.client().describe()
        #expect(try stage.daemon.client().instances(of: Self.timed).isEmpty)
    }

    @Test func `running apps learn of midnight, and a daily timer elapses then`() throws {
        let stage = try Stage(at: 22 * Self.hour, "OnCalendar=daily")
        try stage.clock.put(to: 24 * Self.hour - 10)
        try stage.awaitTold(1)
        #expect(stage.launchCount == 0)
        try stage.awaitTold(2)
        try stage.awaitLaunch()
    }

    @Test func `running apps learn of a new /etc/localtime, and calendar times follow that file`()
        throws
    {
        try requireOrSkip(getuid() == 0, "only root can make a mount namespace")
        let zones = "/usr/share/zoneinfo/Etc"
        try requireOrSkip(access(zones + "/GMT-14", F_OK) == 0, "there are no time zones (tzdata)")
        // The daemon alone gets a copy of /etc.
        let directory = try TemporaryDirectory()
        let etc = directory.path + "/etc"
        _ = try run(ChildRequest("/bin/cp", arguments: ["cp", "-a", "/etc", etc]))
        func set(_ zone: String) {
            symlink("\(zones)/\(zone)", etc + "/localtime.new")
            rename(etc + "/localtime.new", etc + "/localtime")
        }
        set("UTC")
        let stage = try Stage(
            at: 10 * Self.hour, "OnCalendar=*-*-* 00:30:00",
            wrapper: [
                "/usr/bin/unshare", "--mount", "/bin/sh", "-c",
                "mount --bind \(etc) /etc && unset TZ && exec \"$@\"", "sh",
            ])
        // Fourteen hours to the east it is midnight.
        set("GMT-14")
        try stage.awaitTold(1)
        try stage.clock.put(by: Self.hour / 2 + 1)
        try stage.awaitLaunch()
    }
}
