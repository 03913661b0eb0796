internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The state that an instance is in, and the instant up to which its time has been counted.
struct CountedState {
    var key: MetricKey
    var state: ExecutionState
    var inBackground: Bool
    var since: Instant
    /// When the instance was last thawed, or when it began.
    var awakeSince: Instant

    var isInFront: Bool {
        switch state {
        case .active, .inactive: true
        case .launching: !inBackground
        case .background, .suspended, .prewarming, .prewarmed, .terminating, .notRunning:
            false
        }
    }
}

/// What is measured of one instance.
final class Measured: InstancePart {
    var counted: CountedState?
    /// The launch, or the return to the foreground, that is under way.
    var meter: LaunchMeter?
}

/// The instances that exist. Counts the time that each instance spends in front and in the
/// background, in the books of its app.
@LoopActor
final class InstanceTimes {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let books: MetricBooks
    /// The time between two payloads of one app, in microseconds.
    var interval: Int64

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, books: MetricBooks,
        interval: Int64
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.books = books
        self.interval = interval
    }

    subscript(instance: InstanceIdentifier) -> CountedState? {
        instances.known(Measured.self, of: instance)?.counted
    }

    /// The keys of apps that have instances.
    var keys: Set<MetricKey> { Self.keys(of: instances) }

    static func keys(of instances: InstanceTable) -> Set<MetricKey> {
        Set(instances.all(Measured.self).compactMap(\.1.counted?.key))
    }

    func key(of app: AppIdentifier) -> MetricKey? {
        catalog.owner(of: app).map { MetricKey(app: app, user: $0.user) }
    }

    /// The app's running instances that can receive messages; a program without the SDK has none.
    func listeners(of key: MetricKey) -> [InstanceIdentifier] {
        guard core.lifecycle.description(of: key.app)?.acknowledges == true else { return [] }
        return instances.all(Measured.self).filter { _, measured in
            guard let counted = measured.counted, counted.key == key else { return false }
            return counted.state.isRunning && counted.state != .suspended
        }.map(\.0).sorted()
    }

    // MARK: Coming and going

    /// The instance begins, or continues after a restart of the supervisor.
    func begin(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, _ state: ExecutionState,
        inBackground: Bool, since: Instant
    ) {
        guard let key = key(of: app) else { return }
        instances.part(Measured.self, of: instance)?.counted = CountedState(
            key: key, state: state, inBackground: inBackground, since: since,
            awakeSince: since)
    }

    func end(_ instance: InstanceIdentifier) {
        let measured = instances.known(Measured.self, of: instance)
        measured?.counted = nil
        measured?.meter = nil
    }

    /// The instance is in another state from now on; the time in the old state is counted.
    func move(
        _ instance: InstanceIdentifier, to state: ExecutionState, inBackground: Bool
    ) {
        countTime(instance)
        guard let measured = instances.known(Measured.self, of: instance),
            var counted = measured.counted
        else { return }
        if counted.state == .suspended { counted.awakeSince = core.now }
        counted.state = state
        counted.since = core.now
        counted.inBackground = inBackground
        measured.counted = counted
    }

    // MARK: Counting

    func count(_ key: MetricKey, _ count: @escaping (inout MetricReport) -> Void) {
        let now = WallClock.nowMicroseconds
        books.change(key) { [interval] book in
            book.close(at: now, interval: interval)
            book.count(at: now, count)
        }
    }

    /// Counts the time up to now of each of the app's instances.
    func settle(_ key: MetricKey) {
        for (instance, measured) in instances.all(Measured.self) where measured.counted?.key == key
        {
            countTime(instance)
        }
    }

    private func countTime(_ instance: InstanceIdentifier) {
        guard let measured = instances.known(Measured.self, of: instance),
            let counted = measured.counted
        else { return }
        let now = core.now
        measured.counted?.since = now
        let length = UInt64(max(0, counted.since.duration(to: now).microseconds))
        switch counted.state {
        case .launching, .inactive, .active, .background:
            count(counted.key) {
                if counted.isInFront {
                    $0.foregroundTime &+= length
                } else {
                    $0.backgroundTime &+= length
                }
            }
        case .suspended, .prewarming, .prewarmed, .terminating, .notRunning: break
        }
    }
}
