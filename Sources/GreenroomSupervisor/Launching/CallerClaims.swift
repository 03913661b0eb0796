internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

// What a launch's client says of itself. The client may say anything, so only what cannot give the app
// more than it has without is believed:
//
//   limits             the lower of both; of those that the manifest sets not even the soft one rises
//   nice               not below the app's own
//   affinity           the CPUs that both have
//   no_new_privs       on, never off
//   I/O priority       best effort and idle, which any process may choose for itself
//   signals            ignored and blocked, as any process may do to itself
//   personality        for an app without a sandbox, which runs as its client might run it
//
// The process takes it over itself, with its own rights and before any code of the app runs (inherit.h),
// so the kernel holds it to the same rules.

extension InheritedState {
    init(_ claims: Control.CallerState, of app: InstalledApp) {
        self.init()
        limits = stride(from: 0, to: claims.limits.count, by: 2).map {
            Limit(
                soft: UInt64(bitPattern: claims.limits[$0]),
                hard: UInt64(bitPattern: claims.limits[$0 + 1]))
        }
        for limit in app.limits { fixedLimits |= 1 << UInt32(limit.resource.rawValue) }
        nice = claims.nice
        ioPriority = claims.ioPriority
        affinity = stride(from: 0, to: claims.affinity.count, by: 2).map { index in
            let upper = index + 1 < claims.affinity.count ? claims.affinity[index + 1] : 0
            return UInt64(claims.affinity[index]) | UInt64(upper) << 32
        }
        for signal in claims.ignoredSignals { ignoredSignals |= 1 << UInt64(signal - 1) }
        for signal in claims.blockedSignals { blockedSignals |= 1 << UInt64(signal - 1) }
        personality = app.confinement == nil ? claims.personality : 0
        noNewPrivileges = claims.noNewPrivileges
    }
}

/// What the paused instances of an app have already: they are all started alike.
struct PausedState {
    private static let stack = Int(ResourceLimit.Resource.stack.rawValue)

    /// 32 and 33, which C libraries keep for themselves: they are no reason for a cold launch.
    private static let innerSignals: UInt64 = 3 << 31

    var state: InheritedState
    var threadCount: Int

    /// An SDK pauses by itself, and a filter may forbid what is to be called.
    static func canTakeOver(_ app: InstalledApp) -> Bool {
        app.kind == .program && app.confinement?.filters.isEmpty != false
    }

    /// What the launch asks for changes something.
    func differs(from wanted: InheritedState, of app: InstalledApp) -> Bool {
        wanted.closedDescriptors != 0 || wanted.ignoredSignals != 0 || limitsDiffer(from: wanted)
            || threadsDiffer(from: wanted, of: app)
    }

    /// So does a part that each thread has for itself: a launch changes the first one's.
    private func threadsDiffer(from wanted: InheritedState, of app: InstalledApp) -> Bool {
        wanted.nice > state.nice || wanted.blockedSignals != 0
            || (wanted.ioPriority != state.ioPriority && wanted.ioPriority >> 13 >= 2)
            || (wanted.noNewPrivileges && !app.noNewPrivileges)
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

    /// A paused process can take it over.
    func allows(_ wanted: InheritedState, of app: InstalledApp) -> Bool {
        if wanted.personality != state.personality { return false }
        if wanted.limits.count > Self.stack {
            // Where its memory lies, and how large the stacks of its threads are, was decided by it.
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
