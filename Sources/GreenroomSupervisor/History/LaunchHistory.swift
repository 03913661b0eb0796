internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The history of launches, across restarts and days. Launches wait here and are written in batches
/// by another process, so that a launch costs the daemon a few stores, and an idle daemon has
/// nothing to do. A daemon that is killed loses at most one batch.
@LoopActor
final class LaunchHistory {
    private let process: HistoryProcess
    private let planning: WarmPlanning
    private let unrecorded: UnrecordedUsers
    private let degradations: Degradations
    private let log: Log
    private var isOn: Bool
    private var batch: HistoryBatch
    /// The instances that existed when this daemon began, until the first batch says so.
    private var adopted: [UInt64]?

    /// For each instance that has not ended, the places of its launches in the batch.
    private var open: [UInt64: [Int]] = [:]
    /// The instances that this daemon saw launched and that have not ended.
    private var living: [UInt64: Living] = [:]
    /// How many entries of the batch are about each user's apps.
    private var counts: [UInt32: Int] = [:]
    /// Launches for which there was no room.
    private var droppedCount = 0
    private var writing: EventSource?
    private var writingIsUrgent = false
    private var ranks = KnownRanks()
    /// The queries of each user that are not answered.
    private var queryCounts: [UInt32: Int] = [:]

    private struct Living {
        var app: String
        var user: UInt32
        /// Whether the history has a launch of the instance. Only then may its end be written.
        var isRecorded: Bool
    }

    /// A batch is written this long after its first launch. The machine is awake anyway by then, or
    /// wakes up for something else soon after.
    private static let delay = Duration.seconds(60)
    private static let accuracy = Duration.seconds(30)
    /// The delay while launches decide what is kept warm. It lets the launched app start first.
    private static let planningDelay = Duration.seconds(3)
    private static let planningAccuracy = Duration.seconds(1)
    /// A batch of this many is written at once.
    private static let fullCount = 512
    /// At most this many wait while a batch is being written, about 2 MB. No user gets all of them.
    private static let limit = SharedLimit(4096)
    /// At most this many queries of one user are under way: each waits for the disk.
    private static let queriesPerUser = 4

    init(
        process: HistoryProcess, planning: WarmPlanning, unrecorded: UnrecordedUsers,
        degradations: Degradations, log: Log, configuration: DaemonConfiguration,
        adopted: [UInt64]
    ) {
        self.process = process
        self.planning = planning
        self.unrecorded = unrecorded
        self.degradations = degradations
        self.log = log
        self.adopted = adopted
        isOn = configuration.keepsHistory
        batch = Self.batch(configuration)
    }

    private static func batch(_ configuration: DaemonConfiguration) -> HistoryBatch {
        HistoryBatch(
            days: configuration.historyDays, launchesPerUser: configuration.historyLaunchesPerUser)
    }

    /// Applies new settings.
    func reconfigure(_ configuration: DaemonConfiguration) {
        if isOn, !configuration.keepsHistory { write() }
        isOn = configuration.keepsHistory
        if !isOn { degradations.forget(Self.unwritten) }
        batch.days = configuration.historyDays
        batch.launchesPerUser = configuration.historyLaunchesPerUser
    }

    // MARK: Users

    /// Whether the user has turned the history off.
    func isOff(_ user: UInt32) -> Bool { unrecorded.has(user) }

    var usersWithoutHistory: Set<UInt32> { unrecorded.users }

    /// Turns a user's history off or on. Launches before this are still written,
    /// and their ends.
    func keep(_ isOn: Bool, of user: UInt32) throws(SystemError) {
        let wasOff = isOff(user)
        try unrecorded.set(user, isRecorded: isOn)
        guard isOff(user) != wasOff else { return }
        if !isOn { planning.leaveOut(user) }
        planning.review()
    }

    // MARK: Launches

    func began(_ launch: Control.LaunchRecord) {
        let isRecorded = isOn && !isOff(launch.userId)
        if isRecorded || living[launch.instance] == nil {
            living[launch.instance] = Living(
                app: launch.app, user: launch.userId, isRecorded: isRecorded)
        }
        guard isRecorded, admits(launch.userId) else { return }
        open[launch.instance, default: []].append(batch.launches.count)
        batch.launches.append(launch)
        added()
    }

    func becameReady(_ launch: Control.LaunchRecord) {
        guard let first = open[launch.instance]?.first, batch.launches[first].kind == launch.kind
        else { return update(launch) }
        batch.launches[first].readyUSec = launch.readyUSec
    }

    func ended(_ launch: Control.LaunchRecord) {
        defer { living[launch.instance] = nil }
        var knowsAll = false
        for place in open.removeValue(forKey: launch.instance) ?? [] {
            batch.launches[place].exit = launch.exit
            batch.launches[place].ranUSec = launch.ranUSec
            // The instance was started for this launch, so all of its launches are in this batch.
            switch batch.launches[place].kind.known {
            case .cold?, .prewarmed?, .startedAnew?: knowsAll = true
            case .resume?, .foreground?, nil: break
            }
        }
        if !knowsAll { update(launch) }
    }

    /// A paused instance was launched, or has ended.
    func ended(_ pause: Control.PauseRecord) {
        guard !isOff(pause.userId), admits(pause.userId) else { return }
        batch.pauses.append(pause)
        added()
    }

    private func update(_ launch: Control.LaunchRecord) {
        let isRecorded = living[launch.instance]?.isRecorded ?? !isOff(launch.userId)
        guard isRecorded, admits(launch.userId) else { return }
        batch.updates.append(launch)
        added()
    }

    private func admits(_ user: UInt32) -> Bool {
        guard isOn else { return false }
        let own = counts[user, default: 0]
        guard Self.limit.excess(of: user, own: own, taken: batch.count) == nil else {
            droppedCount += 1
            return false
        }
        counts[user] = own + 1
        return true
    }

    private func added() {
        if batch.count == 1 || (planning.hasApps && batch.launches.count == 1) { arm() }
        if batch.count >= Self.fullCount { write() }
    }

    private func arm() {
        let isUrgent = planning.hasApps && !batch.launches.isEmpty
        do throws(SystemdError) {
            if writing == nil || writingIsUrgent != isUrgent {
                writing = try LoopActor.timer(
                    accuracy: isUrgent ? Self.planningAccuracy : Self.accuracy,
                    priority: LoopPriority.idle
                ) { [unowned self] in write() }
                writingIsUrgent = isUrgent
            }
            try writing?.setDeadline(after: isUrgent ? Self.planningDelay : Self.delay)
        } catch { log.failed("arming the timer", error) }
    }

    // MARK: Writing

    private func taken() -> HistoryBatch? {
        guard batch.count > 0 else { return nil }
        var taken = batch
        taken.living = adopted
        adopted = nil
        batch.launches = []
        batch.updates = []
        batch.pauses = []
        open = [:]
        counts = [:]
        writing?.isEnabled = false
        return taken
    }

    private func write() {
        guard batch.count > 0 else { return }
        process.write { [unowned self] in
            taken()
        } then: { [unowned self] batch, answer in
            switch answer {
            case .failure(let error):
                degradations.note(
                    Control.Note(
                        code: Self.unwritten,
                        text: "launches are not kept in the history: \(error.reason)"))
            case .success:
                degradations.forget(Self.unwritten)
                ranks = KnownRanks()
                if !batch.launches.isEmpty { planning.review() }
            }
            if droppedCount > 0 {
                log.say(
                    .warning, "history: \(droppedCount) launches are not kept: too many at once")
                droppedCount = 0
            }
        }
    }

    private static let unwritten = "unwritten_history"

    /// Writes what waits. Called when the daemon is about to end.
    func end() {
        unrecorded.end()
        guard let batch = taken() else { return }
        do { try process.handOver(batch) } catch {
            log.say(.warning, "history: \(error); \(batch.count) launches and ends are not kept")
        }
    }

    // MARK: Queries

    /// Looks for launches. `onDone` is called once.
    ///
    /// - Parameters:
    ///   - asking: the user who asks.
    ///   - user: whose launches that user may see; nil means everybody's.
    func find(
        _ query: Control.HistoryQuery, for asking: UInt32, of user: UInt32?,
        then onDone: @escaping (HistoryProcess.Answer) -> Void
    ) throws(ControlError) {
        try ask(.query(query, user: user), for: asking, then: onDone)
    }

    /// Looks for paused instances of the past, as ``find`` does for launches.
    func findPauses(
        _ query: Control.HistoryQuery, for asking: UInt32, of user: UInt32?,
        then onDone: @escaping (HistoryProcess.Answer) -> Void
    ) throws(ControlError) {
        try ask(.pauses(query, user: user), for: asking, then: onDone)
    }

    /// Makes a plan and has it explained. It changes nothing.
    ///
    /// An answer about one app is given again for a while, as long as nothing has changed that it
    /// depends on: then `onDone` is called at once.
    ///
    /// - Parameters:
    ///   - app: only this app; nil means every app.
    ///   - user: whose apps `asking` may see; nil means everybody's.
    func rank(
        _ app: String?, for asking: UInt32, of user: UInt32?,
        then onDone: @escaping (HistoryProcess.Answer) -> Void
    ) throws(ControlError) {
        try admit(asking)
        let request = planning.request
        let question = app.map { KnownRanks.Question(app: $0, user: user) }
        // What waits to be written would change the answer.
        if let question, batch.count == 0,
            var report = ranks.answer(to: question, request, at: planning.now)
        {
            report.isOff = isOff(asking)
            return onDone(.success(.ranked(report)))
        }
        try ask(.rank(request, app: app, user: user), for: asking) { [unowned self] answer in
            guard case .success(.ranked(var report)) = answer else { return onDone(answer) }
            // The budget that is left would tell the user what paused instances of others hold.
            if user != nil { report.byteBudget = planning.wholeByteBudget }
            if let question { ranks.learn(report, question, request, at: planning.now) }
            report.isOff = isOff(asking)
            onDone(.success(.ranked(report)))
        }
    }

    func forget(
        _ app: String?, for asking: UInt32, of user: UInt32?,
        then onDone: @escaping (HistoryProcess.Answer) -> Void
    ) throws(ControlError) {
        let forgotten = living.filter { Self.matches($0.value, app: app, user: user) }.keys
        try ask(.forget(app: app, user: user), for: asking) { [unowned self] answer in
            ranks = KnownRanks()
            if case .success = answer {
                // Otherwise their ends would be kept as launches whose beginning was lost.
                for instance in forgotten { living[instance]?.isRecorded = false }
                planning.review()
            }
            onDone(answer)
        }
    }

    private static func matches(_ living: Living, app: String?, user: UInt32?) -> Bool {
        if let user, living.user != user { return false }
        guard let app else { return true }
        return unsafe fnmatch(app, living.app, 0) == 0
    }

    private func admit(_ user: UInt32) throws(ControlError) {
        guard queryCounts[user, default: 0] < Self.queriesPerUser else {
            throw .limitExceeded(
                what: "calls of one user for the history", limit: Self.queriesPerUser)
        }
    }

    private func ask(
        _ call: HistoryCall, for user: UInt32,
        then onDone: @escaping (HistoryProcess.Answer) -> Void
    ) throws(ControlError) {
        try admit(user)
        queryCounts[user, default: 0] += 1
        // The answer must include what has just happened.
        write()
        process.ask(call) { [unowned self] answer in
            let rest = queryCounts[user, default: 1] - 1
            queryCounts[user] = rest > 0 ? rest : nil
            onDone(answer)
        }
    }
}
