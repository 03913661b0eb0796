internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest
internal import Systemd

/// Has greenroom-history plan which of the apps whose manifests leave that to the daemon are kept
/// warm, and tells the core.
///
/// A plan is made when something has changed that it depends on:
///
///     launches were written or forgotten, a user
///     turned the history off or on                what its users do
///     a login or logout, an unlock, a session in
///     the foreground, the end of a sleep          who is there, after how long a rest
///     memory becomes short, or no longer is       what memory costs
///     manifests were read, the daemon begins      which apps there are
///     a planned instance ends for its age         the hour, how long the user rests, the battery
///
/// No launch waits for a plan, and nothing wakes the daemon only to make one, except one that had to
/// wait because the last had taken long.
@LoopActor
final class WarmPlanning {
    private let process: HistoryProcess
    private let core: Core
    private let conditions: ConditionInspector
    private let depths: RecordedDepths
    private let unrecorded: UnrecordedUsers
    private let log: Log
    private var isOn: Bool
    private var isDue = false
    private var isUnderWay = false
    /// True if the last plan had apps to choose from, so that launches matter to the next one.
    private(set) var hasApps = false
    /// The apps of the last plan, each with its user.
    private var planned: [String: UInt32] = [:]
    private var next = Instant(nanoseconds: 0)
    /// When the last plan was begun.
    private var begun = Instant(nanoseconds: 0)
    private var timer: EventSource?

    /// At most this many apps are planned with, so that the loop encodes them in milliseconds. Each
    /// user has an equal part.
    private static let appLimit = 4096
    /// After a plan, the daemon waits this many times as long as the plan took before it makes the
    /// next. So a client that launches and asks in turns has at most a twentieth of a processor
    /// spent on plans.
    private static let restFactor = 20
    private static let restLimit = Duration.seconds(300)

    init(
        process: HistoryProcess, core: Core, conditions: ConditionInspector,
        depths: RecordedDepths, unrecorded: UnrecordedUsers, log: Log,
        configuration: DaemonConfiguration
    ) {
        self.process = process
        self.core = core
        self.conditions = conditions
        self.depths = depths
        self.unrecorded = unrecorded
        self.log = log
        isOn = Self.isOn(configuration)
    }

    private static func isOn(_ configuration: DaemonConfiguration) -> Bool {
        configuration.keepsHistory && configuration.plansPrewarms
    }

    /// Applies new settings.
    func reconfigure(_ configuration: DaemonConfiguration) {
        isOn = Self.isOn(configuration)
        guard isOn else {
            hasApps = false
            return use([:])
        }
        review()
    }

    /// The user has turned the history off: what past launches say of the user's apps no longer
    /// counts, also before the next plan.
    func leaveOut(_ user: UInt32) { use(planned.filter { $0.value != user }) }

    /// Something has changed that a plan depends on.
    func review() {
        guard isOn else { return }
        isDue = true
        plan()
    }

    /// Something happened that may be a reason for another plan.
    func note(_ occurrence: Occurrence) {
        switch occurrence {
        case .pressureChanged: review()
        case .exited(let record) where record.endReason == .prewarmExpired:
            if core.lifecycle.isPlanned(record.app) { reviewIfOld() }
        case _: break
        }
    }

    /// A paused instance is about to be replaced, if the app is still worth it. Several may reach
    /// their age limit one after the other, and one plan is enough for them.
    private func reviewIfOld() {
        let age = core.lifecycle.policy.prewarmTimeToLive / 2
        if core.now >= begun.advanced(by: age) { review() }
    }

    private func plan() {
        guard isOn, isDue, !isUnderWay else { return }
        guard core.now >= next else { return arm() }
        isDue = false
        let request = request
        hasApps = !request.apps.isEmpty
        guard !request.apps.isEmpty else { return use([:]) }
        isUnderWay = true
        begun = core.now
        process.ask(.plan(request)) { [unowned self] answer in
            isUnderWay = false
            let rest = begun.duration(to: core.now) * Self.restFactor
            next = core.now.advanced(by: min(rest, Self.restLimit))
            take(answer, to: request)
            plan()
        }
    }

    /// The budget of all paused instances together.
    var wholeByteBudget: UInt64 { core.lifecycle.policy.prewarmByteBudget }

    var now: Instant { core.now }

    /// What a plan would be made from now.
    var request: PlanRequest {
        let apps = core.lifecycle.plannable.filter { !unrecorded.has($0.user) }
        let userCount = Set(apps.map(\.user)).count
        let limit = Self.appLimit / max(1, userCount)
        var counts: [UInt32: Int] = [:]
        var request = PlanRequest(
            byteBudget: core.lifecycle.plannableByteCount,
            isOnBattery: conditions.dischargingBatteryPercent != nil,
            isMemoryShort: core.lifecycle.pressure > .none)
        for app in apps where counts[app.user, default: 0] < limit {
            counts[app.user, default: 0] += 1
            var requested = PlanRequest.App(
                app: app.app.rawValue, user: app.user, byteCount: app.byteCount,
                preparationUSec: app.preparation?.microseconds, isWarm: app.isWarm)
            requested.depth = depths.recorded(app.depth, of: app.app)
            requested.tellsReadiness = app.tellsReadiness
            request.apps.append(requested)
        }
        return request
    }

    private func take(_ answer: HistoryProcess.Answer, to request: PlanRequest) {
        guard isOn else { return }
        switch answer {
        case .success(.planned(let apps)):
            // Takes only apps that were asked about, whatever the process says, and none of a user
            // who has turned the history off since.
            let chosen = Set(apps)
            var plan: [String: UInt32] = [:]
            for app in request.apps where chosen.contains(app.app) && !unrecorded.has(app.user) {
                plan[app.app] = app.user
            }
            use(plan)
        case .success: break
        case .failure(let error):
            log.say(.warning, "history: \(error.reason); the apps kept warm stay as they are")
        }
    }

    private func use(_ apps: [String: UInt32]) {
        guard !planned.isEmpty || !apps.isEmpty else { return }
        planned = apps
        core.handle(.planned(Set(apps.keys.map { AppIdentifier($0) })))
    }

    private func arm() {
        do throws(SystemdError) {
            if timer == nil {
                timer = try LoopActor.timer(
                    accuracy: .seconds(1), priority: LoopPriority.idle
                ) { [unowned self] in plan() }
            }
            try timer?.setDeadline(nanoseconds: next.nanoseconds)
        } catch { log.failed("arming the timer", error) }
    }
}
