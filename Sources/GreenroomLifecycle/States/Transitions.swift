// The states and the legal changes between them.
//
//   (new)       → prewarming, launching
//   prewarming  → prewarmed
//   prewarmed   → launching
//   launching   → inactive, background
//   inactive    → active, background
//   active      → inactive
//   background  → inactive, suspended
//   suspended   → background
//   each of these → terminating, notRunning
//   terminating → notRunning
//   notRunning  → (none: an instance never comes back)
//
// `notRunning` is entered only once the main process has ended and no process is left. Every change
// of state goes through `move`, which also updates the indices, so that they always agree.
//
// What each event does in each phase (`Phase`): the phase that it leads to; `.` if the phase does
// not change; `--` if the request is refused. The columns are: prewarming, paused, ordered, told to
// go, starting, arriving, inactive, active, background, freezing, frozen, ending, emptying, ended.
// These changes have effects:
//
//   to fr          freeze
//   fr, fz to bg   thaw
//   to en          kill, terminate or tell (`InstanceRecord.gentleEnd`)
//   to em          kill, for what is left
//   to ed          release
//   pw             spawn, once more, if nothing or remains were found
//
// For a program whose launch leads to the front. A program has no phase `arriving`:
//
//                 pw  pa  or  go  st  in  ac  bg  fr  fz  en  em  ed
//   spawned       .   .   st  .   .   .   .   .   .   .   .   .   .
//   spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
//   paused        pa  .   .   en  .   .   .   .   .   .   .   .   .
//   started       .   .   .   st  .   .   .   .   .   .   .   .   .
//   channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .
//   becameReady   .   .   ac  ac  ac  .   .   .   .   .   .   .   .
//   acknowledged  .   .   .   .   .   .   .   .   .   .   .   .   .
//   frozen        .   .   .   .   .   .   .   .   fz  .   .   .   .
//   freezeFailed  .   .   .   .   .   .   .   .   bg  bg  .   .   .
//   exited        em  em  em  em  em  em  em  em  em  em  em  .   .
//   emptied       .   .   .   .   .   .   .   .   .   .   .   ed  .
//   deadline      en  en  en  en  en  .   .   fr  fz  .   .   .   .
//   becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .
//   misfired      en  en  .   .   .   .   .   .   .   .   .   .   .
//   found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   no channel    en  en  .   .   .   .   .   .   .   .   .   .   .
//   unfit         .   .   .   en  .   .   .   .   .   .   .   .   .
//   unheard       .   .   .   .   ac  .   .   .   .   .   .   .   .
//   foreground    --  --  .   .   .   ac  .   ac  ac  ac  --  --  --
//   background    --  --  .   .   .   bg  bg  .   bg  bg  --  --  --
//   suspend       --  --  --  --  --  fr  fr  fr  .   .   --  --  --
//   resume        --  --  .   .   .   .   .   .   bg  bg  --  --  --
//   interrupt     --  --  .   .   .   .   in  --  --  --  --  --  --
//   endInterrupt  --  --  .   .   .   ac  .   .   .   .   --  --  --
//   terminate     en  en  en  en  en  en  en  en  en  en  .   .   --
//   forceQuit     en  en  en  en  en  en  en  en  en  en  .   .   --
//
// For an app that acknowledges its states. Where a program moves at once, this table has a `.`,
// because the app moves only when it has acknowledged. A suspended app is thawed first:
//
//                 pw  pa  or  go  st  ar  in  ac  bg  fr  fz  en  em  ed
//   spawned       .   .   st  .   .   .   .   .   .   .   .   .   .   .
//   spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
//   paused        pa  .   .   en  .   .   .   .   .   .   .   .   .   .
//   started       .   .   .   st  .   .   .   .   .   .   .   .   .   .
//   channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .   .
//   becameReady   .   .   in  in  in  .   .   .   .   .   .   .   .   .
//   acknowledged  .   .   .   .   .   in  ac  .   .   .   .   .   .   .
//   frozen        .   .   .   .   .   .   .   .   .   fz  .   .   .   .
//   freezeFailed  .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
//   exited        em  em  em  em  em  em  em  em  em  em  em  em  .   .
//   emptied       .   .   .   .   .   .   .   .   .   .   .   .   ed  .
//   deadline      en  en  .   en  .   .   .   .   fr  fz  .   .   .   .
//   becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   misfired      en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   no channel    en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   unfit         .   .   .   en  .   .   .   .   .   .   .   .   .   .
//   unheard       .   .   .   .   .   .   .   .   .   .   .   .   .   .
//   foreground    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
//   background    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
//   suspend       --  --  --  --  --  --  .   .   fr  .   .   --  --  --
//   resume        --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
//   interrupt     --  --  .   .   .   .   .   .   --  --  --  --  --  --
//   endInterrupt  --  --  .   .   .   .   .   .   .   .   .   --  --  --
//   terminate     en  en  en  en  en  en  en  en  en  en  en  .   .   --
//   forceQuit     en  en  en  en  en  en  en  en  en  en  en  .   .   --
//
// A test runs each pair and compares the result with the simulator's own table (`PhaseTable`).

extension ExecutionState {
    /// The states that may follow this one.
    public var successors: [ExecutionState] {
        switch self {
        case .notRunning: []
        case .prewarming: [.prewarmed, .terminating, .notRunning]
        case .prewarmed: [.launching, .terminating, .notRunning]
        case .launching: [.inactive, .background, .terminating, .notRunning]
        case .inactive: [.active, .background, .terminating, .notRunning]
        case .active: [.inactive, .terminating, .notRunning]
        case .background: [.inactive, .suspended, .terminating, .notRunning]
        case .suspended: [.background, .terminating, .notRunning]
        case .terminating: [.notRunning]
        }
    }

    /// In front, or on the way to or from it.
    public var isForeground: Bool { self == .active || self == .inactive }

    /// Prewarmed, or on the way there. Such instances count against the budget.
    public var isPrewarm: Bool { self == .prewarming || self == .prewarmed }

    /// Whether the instance was launched and is not being ended.
    public var isRunning: Bool {
        switch self {
        case .launching, .inactive, .active, .background, .suspended: true
        case .notRunning, .prewarming, .prewarmed, .terminating: false
        }
    }
}

extension Lifecycle {
    /// Changes the state of an instance. An illegal change is a bug of the core and traps.
    mutating func move(
        _ id: InstanceIdentifier, to state: ExecutionState, deadline: Instant? = nil
    ) {
        let record = self[id].record
        change(id, record.course.entering(state), record.end, deadline)
    }

    /// The same for a state that is a step of the end.
    mutating func move(
        _ id: InstanceIdentifier, to end: InstanceEnd, deadline: Instant? = nil
    ) {
        change(id, self[id].record.course, end, deadline)
    }

    private mutating func change(
        _ id: InstanceIdentifier, _ course: Course, _ end: InstanceEnd, _ deadline: Instant?
    ) {
        let old = self[id].record
        let state = end.state(on: course)
        precondition(
            old.state.successors.contains(state), "illegal: \(old.state) to \(state) of \(id)")
        if old.state == .prewarming, state != .prewarmed, let claim = removeClaim(of: id) {
            lostClaims.append(claim)
        }
        removeFromIndices(old)
        reviewSocket(of: old.app)
        self[id].isAwaitingConnections = false
        if old.state == .prewarmed { endAiring(id) }
        update(id) { [now] in
            $0.course = course
            $0.end = end
            if state == .notRunning { $0.isDeserted = false }
            $0.since = now
            $0.deadline = deadline
        }
        let new = self[id].record
        addToIndices(new)
        if state == .notRunning { refills.sharesGrew() }
        report(.stateChanged(id, old.app, from: old.state, to: state, inBackground: false))
        reviewScreen(of: id, in: state)
        if let priority = priority(in: state, new),
            priority != self.priority(in: old.state, old),
            state != .prewarmed || self[id].claim == nil
        {
            effects.append(.applyPriority(id, priority))
        }
        // A process with the priority of a prewarm would not get to its end while others work.
        if old.state == .prewarming, state == .terminating {
            effects.append(.applyPriority(id, .prewarmed))
        }
        if old.state.isPrewarm && !state.isPrewarm && state != .launching {
            wantRefill(of: old.app)
        }
        if !state.isRunning { leaveConversation(id) }
        if !state.isRunning { launchHasSettled(id) }
        if !state.isRunning && old.background.value != nil { leaveBackgroundTime(id) }
        if old.state == .launching {
            availabilityChanged(of: old.app, because: self[id].record.endReason)
        }
    }

    /// Ends the conversation, if there is one, and refuses the requests that wait for a state,
    /// because the instance will reach no other state but its end.
    private mutating func leaveConversation(_ id: InstanceIdentifier) {
        deadlines.remove(.step(id))
        let reason = self[id].record.endReason ?? .unknown
        answerGoal(of: id, .refused(.ended(id, reason)))
    }

    /// The priority of an instance in this state; nil if it does not change.
    func priority(in state: ExecutionState, _ record: InstanceRecord) -> Priority? {
        switch state {
        case .prewarming: preparingPriority(record)
        case .prewarmed: .prewarmed
        case .launching: record.inBackground ? .background : .foreground
        case .inactive, .active: .foreground
        case .background: .background
        case .suspended: .suspended
        case .terminating, .notRunning: nil
        }
    }

    /// A prewarm takes no processor time from others unless somebody waits for it.
    private func preparingPriority(_ record: InstanceRecord) -> Priority {
        if let claim = table[record.instance]?.claim {
            return claim.launch.inBackground ? .background : .foreground
        }
        return isUrgent(record.app) ? .prewarmed : .preparing
    }
}
