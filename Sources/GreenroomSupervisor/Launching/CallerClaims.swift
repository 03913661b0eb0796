internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

// What the client of a launch says about itself. The client may say anything, so a claim is
// believed only if it cannot give the app more than the app has without it:
//
//   limits             the lower of both; if the manifest sets it, not even the soft limit rises
//   nice               not below the app's own
//   affinity           the CPUs that both have
//   no_new_privs       on, never off
//   I/O priority       best effort and idle, which any process may choose for itself
//   signals            ignored and blocked, as any process may do to itself
//   personality        for an app without a sandbox, which runs as its client might run it
//
// The process takes these over itself, with its own rights and before any code of the app runs
// (inherit.h), so the kernel holds the process to the same rules.

extension InheritedState {
    init(_ claims: Control.CallerState, of app: InstalledApp) {
        self.init()
        limits = stride(from: 0, to: claims.limits.count, by: 2).map {
            Limit(
                soft: UInt64(bitPattern: claims.limits[$0]),
                hard: UInt64(bitPattern: claims.limits[$0 + 1]))
        }
        for limit in app.restrictions.limits { fixedLimits |= 1 << UInt32(limit.resource.rawValue) }
        nice = claims.nice
        ioPriority = claims.ioPriority
        affinity = stride(from: 0, to: claims.affinity.count, by: 2).map { index in
            let upper = index + 1 < claims.affinity.count ? claims.affinity[index + 1] : 0
            return UInt64(claims.affinity[index]) | UInt64(upper) << 32
        }
        for signal in claims.ignoredSignals { ignoredSignals |= 1 << UInt64(signal - 1) }
        for signal in claims.blockedSignals { blockedSignals |= 1 << UInt64(signal - 1) }
        personality = app.restrictions.confinement == nil ? claims.personality : 0
        noNewPrivileges = claims.noNewPrivileges
    }
}

extension InheritedState {
    /// What a paused instance is told of this state. An interpreter that has booted has already
    /// raised its limits, as it would at each launch.
    func asPaused(_ app: InstalledApp) -> InheritedState {
        guard let runtime = app.environment.runtime, limits.count > Self.openFiles else {
            return self
        }
        var state = self
        if runtime.raisesOpenFileLimit {
            state.limits[Self.openFiles].soft = state.limits[Self.openFiles].hard
        }
        if let least = runtime.leastStackLimit {
            let stack = state.limits[Self.stack]
            state.limits[Self.stack].soft = max(stack.soft, min(least, stack.hard))
        }
        return state
    }

    private static let openFiles = Int(ResourceLimit.Resource.openFiles.rawValue)
    private static let stack = Int(ResourceLimit.Resource.stack.rawValue)
}

extension Runtime {
    /// What the launch brings that an interpreter which has booted cannot take over. It has already
    /// looked at its signals, and most interpreters have opened descriptors.
    func obstacles(in context: LaunchContext) -> CallerDifferences {
        let ignored = (context.inherited?.ignoredSignals ?? 0) & ~PausedState.innerSignals
        var found: CallerDifferences = ignored == 0 ? [] : .signals
        if opensDescriptors, !context.otherDescriptors.isEmpty { found.insert(.descriptors) }
        return found
    }
}

/// The state that the paused instances of an app already have. They are all started alike.
struct PausedState {
    private static let stack = Int(ResourceLimit.Resource.stack.rawValue)

    /// Signals 32 and 33, which C libraries keep for themselves. A caller that was started by
    /// posix_spawn(3), for example by make, ignores them, and so does its app; that is no reason
    /// for a cold launch.
    static let innerSignals: UInt64 = 3 << 31

    var state: InheritedState
    var threadCount: Int

    /// False for an app made with the SDK, which pauses by itself, and for an app with a filter,
    /// which may forbid the calls that are needed.
    static func canTakeOver(_ app: InstalledApp) -> Bool {
        app.kind == .program && app.restrictions.confinement?.filters.isEmpty != false
    }

    /// What the launch asks for that changes something.
    func differences(from wanted: InheritedState, of app: InstalledApp) -> CallerDifferences {
        var found = threadDifferences(from: wanted, of: app)
        if wanted.closedDescriptors != 0 { found.insert(.streams) }
        if wanted.ignoredSignals != 0 { found.insert(.signals) }
        if limitsDiffer(from: wanted) { found.insert(.limits) }
        return found
    }

    /// What the launch asks for that changes something which each thread has for itself: a launch
    /// changes the first thread only.
    private func threadDifferences(
        from wanted: InheritedState, of app: InstalledApp
    ) -> CallerDifferences {
        var found: CallerDifferences = wanted.blockedSignals == 0 ? [] : .signals
        if wanted.nice > state.nice
            || (wanted.ioPriority != state.ioPriority && wanted.ioPriority >> 13 >= 2)
        {
            found.insert(.priority)
        }
        if wanted.noNewPrivileges, !app.restrictions.noNewPrivileges { found.insert(.privileges) }
        if zip(state.affinity, wanted.affinity).contains(where: { $0 & ~$1 != 0 }) {
            found.insert(.processors)
        }
        return found
    }

    private func limitsDiffer(from wanted: InheritedState) -> Bool {
        for (index, claim) in wanted.limits.enumerated()
        where limit(index, claim, wanted) != state.limits[index] {
            return true
        }
        return false
    }

    private func limit(
        _ index: Int, _ claim: InheritedState.Limit, _ wanted: InheritedState
    ) -> InheritedState.Limit {
        let own = state.limits[index]
        let hard = min(claim.hard, own.hard)
        var soft = min(claim.soft, hard)
        if wanted.fixedLimits >> UInt32(index) & 1 != 0 { soft = min(soft, own.soft) }
        return InheritedState.Limit(soft: soft, hard: hard)
    }

    /// What the launch asks for that no paused process can take over.
    func obstacles(to wanted: InheritedState, of app: InstalledApp) -> CallerDifferences {
        var found: CallerDifferences = []
        if wanted.personality != state.personality { found.insert(.personality) }
        if wanted.limits.count > Self.stack {
            // The stack limit has already decided where the memory of the process lies, and how
            // large the stacks of its threads are.
            let stack = limit(Self.stack, wanted.limits[Self.stack], wanted)
            if stack.soft != state.limits[Self.stack].soft { found.insert(.limits) }
        }
        var seen = wanted
        seen.ignoredSignals &= ~Self.innerSignals
        seen.blockedSignals &= ~Self.innerSignals
        if !Self.canTakeOver(app) {
            found.formUnion(differences(from: seen, of: app))
        } else if threadCount > 1 {
            found.formUnion(threadDifferences(from: seen, of: app))
        }
        return found
    }
}
