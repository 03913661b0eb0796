internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner
internal import Systemd

/// One process that inspects the imports of an app, as the app's user and with the app's
/// confinement. Its report comes through memory of a fixed size, so that reading it waits for
/// nobody.
@LoopActor
final class ImportInspection {
    /// The app and the environment in which its names are inspected.
    private(set) var candidate: InspectionQueue.Candidate
    let basis: UInt64
    let number: SpawnNumber
    private let runtime: Runtime
    private let names: [String]
    private let takesBeginning: Bool
    private let excluded: [String]
    private let report: SharedMemory
    private let list: FileDescriptor
    /// How the first process has ended, and whether no process is left. Either may become known
    /// first.
    private var status: TerminationStatus?
    private var isEmptied = false
    private var timer: EventSource?
    /// Set when the inspection was killed before its time: whether it is begun again later.
    private(set) var isAwaitedAgain: Bool?

    /// The longest known inspection takes 40 s of processor time, and others have the processors
    /// first. The longest time is for one that hangs. After the first minute, other users have their
    /// turn. An inspection that gave way to them gets twice the time at its next turn, so that one
    /// comes to its end on a busy machine, too.
    private static let patience = Duration.seconds(60)
    private static let patienceLimit = 10

    init(
        of candidate: InspectionQueue.Candidate, _ learning: InstalledApp.Learning,
        _ runtime: Runtime, _ number: SpawnNumber, names: [String], takesBeginning: Bool
    ) throws {
        self.candidate = candidate
        self.runtime = runtime
        self.names = names
        self.takesBeginning = takesBeginning
        basis = learning.basis
        excluded = learning.excluded
        self.number = number
        let text =
            names + excluded.map { "!" + $0 } + (learning.vouching?.linesForInspection ?? [])
        list = unsafe try Array(text.joined(separator: "\n").utf8).withUnsafeBytes { bytes in
            unsafe try SealedFile.create(bytes, name: "greenroom-imports")
        }
        report = try SharedMemory.create(
            byteCount: runtime.inspectionIsTraced
                ? LearnedImports.Limit.trace : LearnedImports.Limit.report,
            name: "greenroom-report")
    }

    /// Sends the order; false if there is no spawner.
    ///
    /// - Parameter isInTheWay: whether another user waits for a turn.
    func begin(
        _ app: InstalledApp, _ orders: SpawnOrders, _ spawner: CurrentSpawner,
        _ isInTheWay: @escaping () -> Bool
    ) throws -> Bool {
        let order = try orders.inspection(
            number, app, candidate.environmentKey, list: list, report: report.descriptor,
            takesBeginning: takesBeginning)
        guard order.isWithinLimits, spawner.send(order) else { return false }
        try limitTime(spawner, minutes: Self.patienceLimit, isInTheWay)
        return true
    }

    /// Kills the inspection after this many minutes, or earlier if it is in the way.
    private func limitTime(
        _ spawner: CurrentSpawner, minutes: Int, _ isInTheWay: @escaping () -> Bool
    ) throws(SystemdError) {
        timer = try LoopActor.timer(after: Self.patience, accuracy: .seconds(10)) {
            [unowned self] in
            let minutesSpent = Self.patienceLimit - minutes + 1
            if minutesSpent >= 1 << candidate.yieldCount, isInTheWay() {
                candidate.yieldCount += 1
                return interrupt(spawner, isAwaitedAgain: true)
            }
            if minutes > 1,
                (try? limitTime(spawner, minutes: minutes - 1, isInTheWay)) != nil
            {
                return
            }
            spawner.send(.kill(instance: number.rawValue))
        }
    }

    /// Kills the inspection before its time.
    func interrupt(_ spawner: CurrentSpawner, isAwaitedAgain: Bool) {
        self.isAwaitedAgain = isAwaitedAgain
        spawner.send(.kill(instance: number.rawValue))
    }

    func exited(_ status: TerminationStatus) { self.status = status }
    func wasEmptied() { isEmptied = true }
    var isTraced: Bool { runtime.inspectionIsTraced }
    var isOver: Bool { status != nil && isEmptied }
    /// Whether it was never started, or killed: others may have had the processors or the memory. A
    /// signal of its own making says something about what it has imported.
    var wasCutShort: Bool {
        switch status {
        case .exited: false
        case .signaled(let signal, _): signal == SIGKILL || signal == SIGTERM
        case .unknown, nil: true
        }
    }

    /// What the process has written; nil if it did not exit with status 0.
    var written: [UInt8]? {
        guard status == .exited(0) else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(
            start: report.baseAddress, count: report.byteCount)
        // Another process may still have the memory, and change it.
        let copy = unsafe Array(bytes)
        return Array(copy.prefix { $0 != 0 })
    }

    /// What a trace says about the names.
    func findings(in trace: ImportTrace) -> LearnedImports? {
        let words = Set(excluded)
        func isExcluded(_ name: String) -> Bool { runtime.isExcluded(name, by: words) }
        return runtime.importsInOrder
            ? trace.findings(for: names, excluding: isExcluded)
            : trace.findingsInGroups(for: names, excluding: isExcluded)
    }
}
