internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Launches apps in the background when their `[Timer]` says so. What becomes due while the machine
/// sleeps is done once, after it wakes.
@LoopActor
final class AppTimers {
    private let launches: TriggeredLaunches
    private let log: Log
    private let memory: TimerMemory
    private var timers: [AppIdentifier: AppTimer] = [:]

    init(launches: TriggeredLaunches, log: Log, memory: TimerMemory) {
        self.launches = launches
        self.log = log
        self.memory = memory
    }

    /// Takes over the apps as they are now. A timer that has not changed goes on.
    func update(_ apps: [(AppIdentifier, AppManifest.Timer)]) {
        var next: [AppIdentifier: AppTimer] = [:]
        var fresh: [AppTimer] = []
        for (app, schedule) in apps {
            if let timer = timers[app], timer.schedule == schedule {
                next[app] = timer
                continue
            }
            let timer = AppTimer(app, schedule, memory, log) { [unowned self] in
                launches.launchForTimer(app)
            }
            next[app] = timer
            fresh.append(timer)
        }
        for app in timers.keys where next[app] == nil { memory.forget(app) }
        timers = next
        for timer in fresh { timer.start() }
    }

    /// The clock was set, or the time zone changed.
    func reckonAnew() {
        for timer in timers.values { timer.reckonAnew() }
    }
}

/// The timer of one app.
@LoopActor
private final class AppTimer {
    let schedule: AppManifest.Timer
    private let app: AppIdentifier
    private let memory: TimerMemory
    private let log: Log
    private let launch: () -> Void
    /// The timers on the clock since the boot and on the wall clock.
    private var spanSource: EventSource?
    private var calendarSource: EventSource?
    /// Calendar times later than this are still to come; microseconds since 1970 UTC.
    private var reckonedFrom: Int64 = 0
    private var calendarDeadline: Int64?

    /// Nobody waits for these times, so the kernel may combine them with other wake-ups.
    private static let accuracy: Duration = .milliseconds(50)

    init(
        _ app: AppIdentifier, _ schedule: AppManifest.Timer, _ memory: TimerMemory,
        _ log: Log, launch: @escaping () -> Void
    ) {
        self.app = app
        self.schedule = schedule
        self.memory = memory
        self.log = log
        self.launch = launch
    }

    func start() {
        startSpans()
        guard !schedule.calendar.isEmpty else { return }
        let now = WallClock.nowMicroseconds
        reckonedFrom = schedule.isPersistent ? memory.lastElapse(of: app, now: now) : now
        armCalendar()
    }

    // MARK: Spans

    /// The schedule for which a deadline is remembered; another schedule begins from the start.
    private var spans: String {
        "\(schedule.afterActivation ?? .zero) \(schedule.afterLaunch ?? .zero)"
    }

    private func startSpans() {
        guard let first = schedule.first else { return memory.forget(app) }
        switch memory.deadline(of: app, schedule: spans) {
        case .at(let deadline): arm(deadline)
        case .over: break
        case .unknown: arm(after: first)
        }
    }

    private func arm(after delay: Duration) {
        let total = delay + randomDelay
        let (span, overflow) = UInt64(max(0, total.microseconds))
            .multipliedReportingOverflow(by: 1000)
        let now = TimerClock.boot.nowNanoseconds
        let deadline = overflow || span > .max - now ? .max : now + span
        memory.note(deadline, of: app, schedule: spans)
        arm(deadline)
    }

    private func arm(_ deadline: UInt64) {
        arming { () throws(SystemdError) in
            spanSource = try LoopActor.timer(on: .boot, accuracy: accuracy) { [unowned self] in
                spanIsOver()
            }
            try spanSource?.setDeadline(nanoseconds: deadline)
        }
    }

    private func spanIsOver() {
        if let again = schedule.afterLaunch {
            arm(after: again)
        } else {
            spanSource = nil
            memory.note(nil, of: app, schedule: spans)
        }
        launch()
    }

    // MARK: Calendar

    /// If the clock was put forward past a time, that time has come. If it was put back before a
    /// time, that time comes again.
    func reckonAnew() {
        guard !schedule.calendar.isEmpty else { return }
        reckonedFrom = min(reckonedFrom, WallClock.nowMicroseconds)
        armCalendar()
    }

    private func armCalendar() {
        calendarSource = nil
        calendarDeadline = schedule.calendar.compactMap { [reckonedFrom] expression in
            LocalZone.within(expression.zone) {
                expression.next(after: reckonedFrom, in: TimeZoneRules.local)
            }
        }.min()
        guard let calendarDeadline else { return }
        let delayed = calendarDeadline + randomDelay.microseconds
        arming { () throws(SystemdError) in
            calendarSource = try LoopActor.timer(on: .realtime, accuracy: accuracy) {
                [unowned self] in calendarElapsed()
            }
            try calendarSource?.setDeadline(nanoseconds: UInt64(max(0, delayed)) * 1000)
        }
    }

    private func calendarElapsed() {
        // This is no earlier than the time that was due, in case the clock was put back at this
        // very moment.
        let now = max(WallClock.nowMicroseconds, calendarDeadline ?? 0)
        reckonedFrom = now
        if schedule.isPersistent { memory.noteElapse(of: app, at: now) }
        armCalendar()
        launch()
    }

    // MARK: Arming

    private var accuracy: Duration { schedule.accuracy ?? Self.accuracy }

    private var randomDelay: Duration {
        guard let limit = schedule.randomizedDelay, limit > .zero else { return .zero }
        return .microseconds(Int64.random(in: 0...limit.microseconds))
    }

    private func arming(_ body: () throws(SystemdError) -> Void) {
        do throws(SystemdError) { try body() } catch {
            log.failed("arming the timer of \(app)", error)
        }
    }
}
