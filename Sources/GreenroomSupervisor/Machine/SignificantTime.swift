internal import GreenroomLifecycle
internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Hears of significant changes of the time: the clock was set, midnight has passed, or the time
/// zone changed (`applicationSignificantTimeChange`).
@LoopActor
final class SignificantTime {
    private let core: Core
    private let timers: AppTimers
    private let log: Log
    private let zonePath: String
    private let clock: ClockWatch
    private let inotify: Inotify
    private var sources: [EventSource] = []
    private var midnight: EventSource?

    /// The events that change the zone's file: a link is replaced, or a file is written.
    private static let changes = UInt32(IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE)
    /// Nobody needs these times more exactly.
    private static let accuracy: Duration = .milliseconds(250)

    init(core: Core, timers: AppTimers, log: Log) throws {
        self.core = core
        self.timers = timers
        self.log = log
        zonePath = LocalZone.path
        clock = try ClockWatch()
        inotify = try Inotify()
        let slash = zonePath.lastIndex(of: "/") ?? zonePath.startIndex
        // If there is no such folder, nobody changes the zone.
        _ = try? inotify.watch(String(zonePath[..<slash]) + "/", for: Self.changes)
        sources = [
            try LoopActor.io(clock.descriptor.rawValue, .readable) { [unowned self] _ in
                if clock.takeChange() { reckonAnew() }
            },
            try LoopActor.io(inotify.descriptor.rawValue, .readable) { [unowned self] _ in
                filesChanged()
            },
        ]
        midnight = try LoopActor.timer(on: .realtime, accuracy: Self.accuracy) {
            [unowned self] in
            armMidnight()
            core.handle(.significantTimeChanged)
        }
        LocalZone.reload()
        armMidnight()
    }

    private func armMidnight() {
        guard
            let next = CalendarExpression.daily.next(
                after: WallClock.nowMicroseconds, in: TimeZoneRules.local)
        else { return }
        do throws(SystemdError) {
            try midnight?.setDeadline(nanoseconds: UInt64(next) * 1000)
        } catch {
            log.failed("arming the timer of midnight", error)
        }
    }

    private func filesChanged() {
        let name = zonePath.split(separator: "/").last.map(String.init)
        let events = (try? inotify.read()) ?? []
        guard events.contains(where: { $0.overflowed || $0.name == name }) else { return }
        LocalZone.reload()
        reckonAnew()
    }

    private func reckonAnew() {
        armMidnight()
        // Calendar times mean other instants than before.
        timers.reckonAnew()
        core.handle(.significantTimeChanged)
    }
}
