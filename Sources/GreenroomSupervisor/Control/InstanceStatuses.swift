internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// The instances, as `Status` shows them.
@LoopActor
struct InstanceStatuses {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let authorization: Authorization
    let depths: ReportedDepths
    let traces: LaunchTraces
    let screens: ShownScreens
    let work: BackgroundWork

    /// The instances that have a process. If one app or instance was asked for, ended instances
    /// that are on record are included.
    func statuses(
        of target: Control.Target?, _ peer: Peer
    ) throws(ControlError) -> [Control.InstanceStatus] {
        var memory = measuredLimit
        return try records(of: target, peer).map { status($0, &memory) }
    }

    private func records(
        of target: Control.Target?, _ peer: Peer
    ) throws(ControlError) -> [InstanceRecord] {
        switch target {
        case nil:
            return core.lifecycle.instances
                .filter { $0.state != .notRunning }
                .filter { authorization.mayDo(.observe, owner: catalog.owner(of: $0.app), peer) }
        case .app(let name)?:
            try authorization.require(.observe, of: .app(name), peer)
            return core.lifecycle.instances(of: AppIdentifier(name))
        case .instance(let number)?:
            try authorization.require(.observe, of: .instance(number), peer)
            let record = core.lifecycle.instance(InstanceIdentifier(number))
            return record.map { [$0] } ?? []
        }
    }

    /// The memory of at most this many instances is measured for one reply. A measurement takes up
    /// to 0.1 ms, during which nobody else is served.
    private var measuredLimit: Int { 64 }

    /// The memory of a paused instance, measured at its pause or later, or of a running instance,
    /// measured now. The figure from its pause would say nothing about a running instance.
    private func byteCount(of record: InstanceRecord, _ budget: inout Int) -> UInt64? {
        let count: UInt64
        if record.state.isLaunched {
            guard budget > 0, let instance = instances[record.instance] else { return nil }
            budget -= 1
            count = instance.byteCount
        } else {
            count = record.byteCount
        }
        return count > 0 ? count : nil
    }

    private func status(_ record: InstanceRecord, _ memory: inout Int) -> Control.InstanceStatus {
        var status = Control.InstanceStatus(
            instance: record.instance.rawValue, app: record.app.rawValue,
            state: Control.ExecutionState(record.state),
            sinceTimestampUSec: WallClock.microseconds(at: record.since))
        status.processId = instances.pid(of: record.instance)
        status.launchIdentifier = record.launchIdentifier?.rawValue
        status.kind = record.launchKind.map { .known(.init($0)) }
        status.coldReason = record.coldReason.map { .known(.init($0)) }
        status.anewReason = record.anewReason.map { .known(.init($0)) }
        status.depth = depths.depth(of: record)
        status.isAttached = record.isAttached
        let restarts = core.lifecycle.app(record.app)?.restartCount ?? 0
        status.restartCount = restarts > 0 ? Int64(restarts) : nil
        status.byteCount = byteCount(of: record, &memory)
        status.areThreadsFrozen = record.state == .prewarmed ? record.otherThreads.areFrozen : nil
        status.exit = record.exitStatus == nil ? nil : Control.ExitRecord(record)
        let conversation = record.state == .notRunning ? nil : record.conversation
        let scenes = conversation?.scenes.filter { $0.scene != .application }
        status.scenes = scenes.flatMap { $0.isEmpty ? nil : $0 }?.map {
            Control.Scene(
                session: $0.scene.description, activation: Control.ActivationState($0.activation))
        }
        let steps = traces.steps(of: record.instance)
        if !steps.isEmpty {
            status.steps = steps.map { .init(step: $0.name, elapsedUSec: $0.elapsedUSec) }
        }
        status.launchScreen = screens.current(of: record)
        if let time = record.background.value, time.taskCount > 0 {
            status.backgroundTasks = work.openTasks(of: record.instance)
            status.backgroundRemainingUSec = time.end.map {
                max(0, core.now.duration(to: $0).microseconds)
            }
        }
        return status
    }
}

extension OtherThreads {
    fileprivate var areFrozen: Bool? {
        switch self {
        case .none: nil
        case .frozen: true
        case .running: false
        }
    }
}

extension ExecutionState {
    /// True from the launch until the instance has ended, including while it is being ended.
    var isLaunched: Bool {
        switch self {
        case .launching, .inactive, .active, .background, .suspended, .terminating: true
        case .notRunning, .prewarming, .prewarmed: false
        }
    }
}
