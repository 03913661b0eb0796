// How far prewarming goes. An app is prewarmed to the depth that its description names, as long as
// that works:
//
//   a prewarm ends before its pause, takes too long, pauses somewhere else, starts a program,
//   changes its process, or starts threads that it would not start before main
//                             → the app pauses before main in that environment
//   the same while one of its libraries was opened
//                             → that library is left out (`LearnedLibraries`), at most `dropLimit`
//   the same in a second environment, or in the app's own
//                             → the app pauses before main
//   any of this on the way to the app's first window; or the program cannot be held there because
//   it owns a name on a bus that nobody can watch (`HeldNames`), shows something in another way, or
//   cannot be frozen; or it ends while it is held, or two launches in a row show no window in time,
//   and the second began after the first had failed
//                             → the same, but the app still goes as far as `libraries`
//   a launch shows no window in time, for the first time
//                             → the app keeps its depth, and the next prewarm waits, because the
//                               display may have been busy
//   somebody kills a prewarm on its way with SIGKILL, or it ends with the spawner
//                             → the app keeps its depth, and the next prewarm waits (`BackingOff`).
//                               If `unorderedKillLimit` in a row are killed, the last one counts
//                               as an end
//   `anewLimit` launches in a row were started anew, or launches are not faster
//   (`DepthTimes`)            → the app pauses before main, because the depth saves nothing. If
//                               its imports are learned, the shell installs it again without
//                               them instead, and the app gets its depth back
//   the app's files or its manifest change, or a client resets the app
//                             → the app gets its depth back
//
// A launch that was started anew is a correct launch: the paused process could not go on as the
// launch, so it executed the launch's words in its own process.

/// How far a prewarm goes. Raw values are kept in the runtime state.
public enum PrewarmDepth: UInt8, CaseIterable, Sendable {
    /// Before the program's main.
    case main = 0
    /// After an interpreter has booted, and before it looks at its program.
    case runtime = 1
    /// Before main, with those libraries open that earlier launches opened after main
    /// (`LearnedLibraries`).
    case libraries = 2
    /// In the program's main loop, with its windows made and not shown. The program withholds the
    /// windows, comes to rest, and is frozen. Until then it is on its way to the pause.
    case window = 3
}

/// Why an app is prewarmed less deep than its description says. Raw values are kept in the runtime
/// state.
public enum DepthFault: UInt8, CaseIterable, Sendable {
    /// It ended before its pause.
    case ended = 0
    /// It paused before main.
    case pausedElsewhere = 1
    /// It did not pause in time.
    case timedOut = 2
    /// It was about to start another program or process before its pause.
    case startsPrograms = 3
    /// Launches in a row were started anew.
    case startsAnew = 4
    /// A library changed something that is lost when the instance is launched.
    case changesProcess = 5
    /// A library started a thread.
    case startsThreads = 6
    /// Launches were no faster than from a pause before main, or than without the learned imports.
    case savesNothing = 7
    /// It was about to own a name on a message bus that nobody can watch.
    case ownsName = 8
    /// It uses its display in a way that does not let its windows be withheld.
    case otherDisplay = 9
    /// Its processes could not be frozen while it was held.
    case notFrozen = 10
    /// It was about to show an icon in a panel, or a notification.
    case showsNotice = 11
    /// It ended while it was held.
    case endedHeld = 12
    /// It was launched from being held, and did not show its window in time.
    case noWindow = 13
    /// Another process of the program is running and owns its name on a message bus.
    case nameTaken = 14
    /// A library could not be opened before main.
    case cannotBeOpened = 15
}

/// Why a paused process executed the launch's words instead of going on. Raw values are kept in the
/// runtime state.
public enum AnewReason: UInt8, CaseIterable, Sendable {
    /// The words before the program differ from those of the prewarm.
    case options = 1
    /// The program is named in a way that only a starting interpreter understands.
    case program = 2
    /// A file beside the program hides a module that was loaded before, or the program begins with
    /// other modules.
    case hiddenModule = 3
    /// Files that were loaded before have changed.
    case changed = 4
    /// A variable that was read before the pause has another value.
    case environment = 5
    /// The caller ignores a signal that the interpreter handles.
    case signals = 6
    /// The launch's program could not be put in place of the placeholder.
    case failed = 7
}

/// What is known about an app's depth beyond its description.
public struct DepthRecord: Hashable, Sendable {
    /// Where the app is prewarmed less deep than its description says, and why.
    public var demotion: Demotion?
    /// How many launches were started anew, and how many in a row, counted up to `anewLimit`.
    public var anewCount: UInt32 = 0
    public var anewStreak: UInt8 = 0
    /// Why the latest of these launches was started anew.
    public var latestAnew: AnewReason?

    public init() {}

    public struct Demotion: Hashable, Sendable {
        /// The generation of the `AppDescription` that the demotion applies to.
        public var generation: UInt64
        /// The environment that the demotion applies to; nil means all.
        public var environmentKey: EnvironmentKey?
        public var fault: DepthFault
        /// Whether the app was to be held at its first window. If so, it still goes as far as
        /// `libraries`; if not, no further than main.
        public var isOfWindow: Bool
        /// Whether the app may still be held, because only prewarms to `libraries` have failed. The
        /// app goes to that depth while it cannot be held (`Holding`).
        public var sparesWindow: Bool

        public init(
            generation: UInt64, environmentKey: EnvironmentKey?, fault: DepthFault,
            isOfWindow: Bool = false, sparesWindow: Bool = false
        ) {
            self.generation = generation
            self.environmentKey = environmentKey
            self.fault = fault
            self.isOfWindow = isOfWindow
            self.sparesWindow = sparesWindow
        }

        /// The depth that has failed.
        public func depth(of description: AppDescription) -> PrewarmDepth {
            if isOfWindow { return .window }
            return description.depth == .window ? .libraries : description.depth
        }
    }
}

extension Lifecycle {
    /// If this many launches in a row are started anew, the depth saves nothing.
    static let anewLimit: UInt8 = 3

    /// How far the app is prewarmed in that environment.
    public func depth(of app: AppIdentifier, _ key: EnvironmentKey) -> PrewarmDepth {
        known(allowedDepth(of: app, key), of: app, key)
    }

    /// How far it is prewarmed if it is not held at its first window.
    func depthUnheld(of app: AppIdentifier, _ key: EnvironmentKey) -> PrewarmDepth {
        known(allowedDepthUnheld(of: app, key), of: app, key)
    }

    private func known(
        _ depth: PrewarmDepth, of app: AppIdentifier, _ key: EnvironmentKey
    ) -> PrewarmDepth {
        depth == .libraries && libraryCount(of: app, key) == 0 ? .main : depth
    }

    /// How far the app may be prewarmed in that environment, even if nothing was learned about its
    /// libraries yet.
    func allowedDepth(of app: AppIdentifier, _ key: EnvironmentKey) -> PrewarmDepth {
        guard let description = directory[app]?.description, description.depth == .window,
            mayHold(description.value), demotion(of: app, key)?.sparesWindow ?? true
        else { return allowedDepthUnheld(of: app, key) }
        return .window
    }

    /// The same for an instance that is not held at its first window.
    func allowedDepthUnheld(of app: AppIdentifier, _ key: EnvironmentKey) -> PrewarmDepth {
        guard let description = directory[app]?.description else { return .main }
        let depth = description.depth == .window ? .libraries : description.depth
        guard let demotion = demotion(of: app, key) else { return depth }
        return demotion.isOfWindow ? .libraries : .main
    }

    private func demotion(
        of app: AppIdentifier, _ key: EnvironmentKey
    ) -> DepthRecord.Demotion? {
        demotion(of: app).flatMap { $0.environmentKey ?? key == key ? $0 : nil }
    }

    /// Why the app's installed generation is prewarmed less deep than its description says; nil if
    /// it is not demoted.
    public func demotion(of app: AppIdentifier) -> DepthRecord.Demotion? {
        guard let entry = directory[app], let demotion = entry.record.depth.demotion,
            demotion.generation == entry.description?.generation
        else { return nil }
        return demotion
    }

    /// A prewarm that was to go deeper than main has failed. From now on the app pauses before
    /// main.
    ///
    /// - Returns: false if the depth is not to blame.
    mutating func demote(_ record: InstanceRecord, _ fault: DepthFault) -> Bool {
        guard record.depth != .main, record.state == .prewarming else { return false }
        guard record.generation == directory[record.app]?.description?.generation else {
            return false
        }
        blame(record, fault)
        // Clients that wait for a prewarm now wait for the next one.
        wantRefill(of: record.app)
        return true
    }

    /// A paused instance was told to go and has not said in time that it did. The launch goes on in
    /// another process, unless the instance has no channel to say so on: then it may have run. A
    /// held program says so when it has shown a window, so the user waits in either case. Nobody knows
    /// whether the program or its display was too slow, so the first failure blames neither. Nor does a
    /// failure of a launch that began before that, because the same stall may have caused both.
    ///
    /// A program that was called has the call, and no other process could serve it. So it goes on, and
    /// shows its window when it can. Earlier failures still count.
    mutating func goTimedOut(_ id: InstanceIdentifier) {
        let record = self[id].record
        let isUnheard = self[id].prewarm == .toldToGo(hasChannel: false)
        if isUnheard, record.depth != .window { return started(id) }
        guard record.depth == .window else { return goFailed(id) }
        if self[id].launch?.origin == .call { return beganRunning(id) }
        let hasFailedBefore = self[record.app].windowMissedAt.map { $0 < record.since } ?? false
        // What an earlier generation failed to do says nothing about the installed one.
        if self[record.app].windowMissedAt == nil,
            record.generation == directory[record.app]?.description?.generation
        {
            self[record.app].windowMissedAt = now
        }
        goFailed(id, isDepthToBlame: hasFailedBefore && demoteHeld(record, .noWindow))
    }

    /// The instance has said that it goes on. A held program says so once it has shown a window.
    mutating func startReported(_ id: InstanceIdentifier, _ anew: AnewReason?) {
        if let record = table[id]?.record, record.phase == .toldToGo, record.depth == .window,
            directory[record.app] != nil
        {
            self[record.app].windowMissedAt = nil
        }
        started(id, anew: anew)
    }

    /// A held program has failed. From now on the app is not held.
    ///
    /// - Returns: false if holding is not to blame.
    mutating func demoteHeld(_ record: InstanceRecord, _ fault: DepthFault) -> Bool {
        guard record.depth == .window, record.state != .prewarming,
            record.generation == directory[record.app]?.description?.generation
        else { return false }
        demote(record.app, record, fault)
        wantRefill(of: record.app)
        return true
    }

    /// The instance misfired beyond main: before its pause, or while it is held. Its end may be
    /// reported before this.
    mutating func misfiredBeyondMain(
        _ record: InstanceRecord, _ fault: DepthFault, _ program: String?
    ) {
        guard record.generation == directory[record.app]?.description?.generation else { return }
        if fault == .nameTaken, record.state == .prewarming, mayHaveFreedName(since: record) {
            prewarmFailed(record.app, .prewarmFailed)
        } else {
            blame(record, fault, program)
            wantRefill(of: record.app)
        }
        if record.state.isPrewarm { end(record.instance, .prewarmFailed, gently: false) }
    }

    /// A prewarm has failed because of one of its libraries, or because of its depth.
    private mutating func blame(
        _ record: InstanceRecord, _ fault: DepthFault, _ program: String? = nil
    ) {
        switch table[record.instance]?.preparation?.libraries {
        case .former: return
        case .current(let index?, _) where dropLibrary(index, of: record, fault): return
        case .current, nil: demote(record.app, record, fault, program)
        }
    }

    mutating func demote(
        _ app: AppIdentifier, _ record: InstanceRecord, _ fault: DepthFault,
        _ program: String? = nil
    ) {
        let known = demotion(of: app)
        let isEverywhere =
            fault == .startsAnew || fault == .savesNothing
            || record.environmentKey == self[app].description?.environmentKey
            || known.map { $0.environmentKey != record.environmentKey } ?? false
            // Only one demotion is remembered. If this one applied to one environment, the app
            // would be held again in the others.
            || known?.isOfWindow == true && record.depth != .window
        let demotion = DepthRecord.Demotion(
            generation: record.generation,
            environmentKey: isEverywhere ? nil : record.environmentKey, fault: fault,
            isOfWindow: record.depth == .window,
            sparesWindow: self[app].description?.depth == .window && record.depth != .window
                && known?.sparesWindow ?? true)
        updateApp(app) {
            $0.depth.demotion = demotion
            $0.depth.anewStreak = 0
        }
        // If the app gets its depth back, the depth is measured afresh.
        if var times = self[app].times.value, fault == .savesNothing {
            times.forgetDeep()
            self[app].times = Boxed(times)
        }
        report(
            .demoted(
                record.instance, app, fault, of: record.depth, program: program,
                isEverywhere: isEverywhere))
        guard let entry = directory[app] else { return }
        for id in entry.pool + entry.filling where id != record.instance {
            let other = self[id].record
            let key = other.environmentKey
            let allowed =
                other.depth == .window
                ? allowedDepth(of: app, key) : allowedDepthUnheld(of: app, key)
            if other.depth == record.depth, allowed != other.depth {
                end(id, .poolTrimmed, gently: false)
            }
        }
    }

    /// A launch from the pool has started, perhaps anew.
    mutating func noteStart(_ id: InstanceIdentifier, anew reason: AnewReason?) {
        let record = self[id].record
        guard record.depth == .runtime, directory[record.app] != nil else { return }
        guard let reason else {
            if self[record.app].record.depth.anewStreak > 0 {
                updateApp(record.app) { $0.depth.anewStreak = 0 }
            }
            return
        }
        update(id) {
            $0.launchKind = .startedAnew
            $0.anewReason = reason
        }
        updateApp(record.app) {
            $0.depth.anewCount &+= $0.depth.anewCount < .max ? 1 : 0
            $0.depth.anewStreak = min($0.depth.anewStreak + 1, Self.anewLimit)
            $0.depth.latestAnew = reason
        }
        let isCurrent = record.generation == self[record.app].description?.generation
        if isCurrent, self[record.app].record.depth.anewStreak >= Self.anewLimit {
            demote(record.app, record, .startsAnew)
        }
    }
}
