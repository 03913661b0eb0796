internal import Glibc
internal import GreenroomLinux

/// Tells greenroomd which app has the foreground of a display, as a desktop's shell would. It sleeps
/// until the focus changes, and ends with the display.
public struct ForegroundReporter {
    private let display: any Display
    private let daemons: [DaemonReports]

    /// Connects to the display that the environment names: Wayland's if its compositor reports the
    /// focus, else X's. With `--bus`, to the message bus instead.
    public init(_ options: SessionOptions) throws(UnusableSession) {
        let daemons = options.sockets.map(DaemonReports.init)
        self.daemons = daemons
        display = try Self.display(options, daemons)
    }

    private static func display(
        _ options: SessionOptions, _ daemons: [DaemonReports]
    ) throws(UnusableSession) -> any Display {
        if options.isOnBus {
            do throws(DisplayFailure) {
                return try BusDisplay { app in daemons.contains { $0.prepare(app) } }
            } catch {
                throw UnusableSession("\(error)", isTemporary: error.mayStartLater)
            }
        }
        var reasons: [String] = []
        var isTemporary = false
        do throws(DisplayFailure) {
            if let path = options.displays.waylandPath { return try WaylandDisplay(path: path) }
        } catch {
            reasons.append("\(error)")
            isTemporary = isTemporary || error.mayStartLater
        }
        do throws(DisplayFailure) {
            if let text = options.displays.xDisplay {
                let (name, authority) = try XName.find(
                    text, authorityPath: options.displays.authorityPath)
                return try XDisplay(name, authority)
            }
        } catch {
            reasons.append("\(error)")
            isTemporary = isTemporary || error.mayStartLater
        }
        if reasons.isEmpty { reasons = ["neither WAYLAND_DISPLAY nor DISPLAY is set"] }
        throw UnusableSession(reasons.joined(separator: "; "), isTemporary: isTemporary)
    }

    /// Reports are at least this many nanoseconds apart, however often the focus changes. Whatever
    /// has the foreground when that time is over is reported.
    private static let shortestPause: UInt64 = 50_000_000

    /// Returns when the display has ended.
    public func run() throws(UnusableSession) {
        do throws(DisplayFailure) {
            var front = try display.front()
            var reported = front
            for daemon in daemons { daemon.report(front) }
            var reportAt = MonotonicClock.nanoseconds + Self.shortestPause
            // From now on, no change of the focus is missed.
            try? ServiceNotification.send("READY=1")
            while true {
                let ready = wait(until: front == reported ? nil : reportAt)
                let mustLook = display.lookAt.map { $0 <= MonotonicClock.nanoseconds } ?? false
                if ready.contains(display.descriptor) || display.hasMore || mustLook {
                    front = try display.front()
                }
                if front != reported, MonotonicClock.nanoseconds >= reportAt {
                    reported = front
                    for daemon in daemons { daemon.report(front) }
                    reportAt = MonotonicClock.nanoseconds + Self.shortestPause
                    continue
                }
                for daemon in daemons where isDue(daemon, ready) { daemon.repeatReport(reported) }
            }
        } catch {
            guard error.isEnd else { throw UnusableSession(error) }
        }
    }

    /// Between two calls, the connection becomes readable only when the daemon ends.
    private func isDue(_ daemon: DaemonReports, _ ready: Set<CInt>) -> Bool {
        if let descriptor = daemon.descriptor { return ready.contains(descriptor) }
        return daemon.retryAt.map { $0 <= MonotonicClock.nanoseconds } ?? false
    }

    private func wait(until reportAt: UInt64?) -> Set<CInt> {
        var entries = [PollEntry(display.descriptor, POLLIN)]
        entries += daemons.compactMap(\.descriptor).map { PollEntry($0, POLLIN) }
        let now = MonotonicClock.nanoseconds
        let times = daemons.compactMap(\.retryAt) + [reportAt, display.lookAt].compactMap(\.self)
        let pause =
            display.hasMore ? 0 : times.min().map { $0 > now ? ($0 - now) / 1_000_000 + 1 : 0 }
        _ = try? PollEntry.wait(&entries, milliseconds: pause.map { CInt(clamping: $0) } ?? -1)
        return Set(entries.filter(\.isReady).map(\.descriptor))
    }
}
