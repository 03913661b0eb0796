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
    /// Whether an interpreter that has booted can take over what the launch brings. It has already
    /// looked at its signals, and most interpreters have opened descriptors.
    func canTakeOver(_ context: LaunchContext) -> Bool {
        let ignored = (context.inherited?.ignoredSignals ?? 0) & ~PausedState.innerSignals
        return ignored == 0 && (context.otherDescriptors.isEmpty || !opensDescriptors)
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

    /// True if what the launch asks for changes something.
    func differs(from wanted: InheritedState, of app: InstalledApp) -> Bool {
        wanted.closedDescriptors != 0 || wanted.ignoredSignals != 0 || limitsDiffer(from: wanted)
            || threadsDiffer(from: wanted, of: app)
    }

    /// True if what the launch asks for changes something that each thread has for itself: a launch
    /// changes the first thread only.
    private func threadsDiffer(from wanted: InheritedState, of app: InstalledApp) -> Bool {
        wanted.nice > state.nice || wanted.blockedSignals != 0
            || (wanted.ioPriority != state.ioPriority && wanted.ioPriority >> 13 >= 2)
            || (wanted.noNewPrivileges && !app.restrictions.noNewPrivileges)
            || zip(state.affinity, wanted.affinity).contains { $0 & ~$1 != 0 }
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

    /// True if a paused process can take over what the launch asks for.
    func allows(_ wanted: InheritedState, of app: InstalledApp) -> Bool {
        if wanted.personality != state.personality { return false }
        if wanted.limits.count > Self.stack {
            // The stack limit has already decided where the memory of the process lies, and how
            // large the stacks of its threads are.
            let stack = limit(Self.stack, wanted.limits[Self.stack], wanted)
            if stack.soft != state.limits[Self.stack].soft { return false }
        }
        var seen = wanted
        seen.ignoredSignals &= ~Self.innerSignals
        seen.blockedSignals &= ~Self.innerSignals
        guard differs(from: seen, of: app) else { return true }
        guard Self.canTakeOver(app) else { return false }
        return threadCount <= 1 || !threadsDiffer(from: seen, of: app)
    }
}
