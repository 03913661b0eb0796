// The phases and the legal steps between them. The state that clients see follows from the phase
// (`Phase.state`).
//
//   (new)       → prewarming, ordered
//   prewarming  → paused
//   paused      → told to go
//   ordered     → starting
//   told to go  → starting, ordered (another instance serves its launch, and it is ended)
//   starting    → arriving, inactive, background
//   arriving    → inactive, background
//   inactive    → active, background
//   active      → inactive
//   background  → inactive, freezing
//   freezing    → frozen, background
//   frozen      → background
//   each of these → ending, emptying, ended
//   ending      → emptying, ended
//   emptying    → ended
//   ended       → (none: an instance never comes back)
//
// `ended` is entered only once the main process has ended and no process is left. Every change of
// state goes through `move`, which also updates the indices, so that they always agree. `move`
// traps on a step that is not in this list; in debug builds, so does every other change of a
// record (`update`).
//
// What each event does in each phase (`Phase`): the phase that it leads to; `.` if the phase does
// not change; `--` if the request is refused. The columns are: prewarming, paused, ordered, told to
// go, starting, arriving, inactive, active, background, freezing, frozen, ending, emptying, ended.
// An event that means different things has several rows. Some names of rows need an explanation:
//
//   exec           the app is ready as soon as it runs
//   other step     the acknowledged step leads to the background, or back from it
//   exited, empty  the other processes have ended before the main process
//   deadline, 2nd  a deadline is over for the second time
//   emptied, left  the main process has ended before, and left the others running
//   locked         a file lock was found again after its grace; `unconnected`, `connected` and
//                  `untraced` are the shell's other answers to the core's questions
//   measured       the paused instance needs more memory than the pools may have
//   policy         the pools may have less memory than the paused instance needs
//   planned        the plan no longer has the app
//   active         a display shows the user, so another instance can be held at its window
//   task ended     the last task, and suspension was asked for; the same for `runCompleted`
//   restored       nobody has watched the name of the paused instance
//
// An instance that was told to go and has no channel counts as started when it has exited, and when
// its deadline is over.
//
// These changes have effects:
//
//   to go          go
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
//   spawned, exec .   .   ac  .   .   .   .   .   .   .   .   .   .
//   spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
//   paused        pa  .   .   en  .   .   .   .   .   .   .   .   .
//   started       .   .   .   st  .   .   .   .   .   .   .   .   .
//   started, exec .   .   .   ac  .   .   .   .   .   .   .   .   .
//   channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .
//   becameReady   .   .   ac  ac  ac  .   .   .   .   .   .   .   .
//   ready, scenes .   .   ac  ac  ac  .   .   .   .   .   .   .   .
//   acknowledged  .   .   .   .   .   .   .   .   .   .   .   .   .
//   other step    .   .   .   .   .   .   .   .   .   .   .   .   .
//   frozen        .   .   .   .   .   .   .   .   fz  .   .   .   .
//   freezeFailed  .   .   .   .   .   .   .   .   bg  bg  .   .   .
//   exited        em  em  em  em  em  em  em  em  em  em  em  .   .
//   exited, empty ed  ed  em  em  ed  ed  ed  ed  ed  ed  em  .   .
//   emptied       .   .   .   .   .   .   .   .   .   .   .   ed  .
//   emptied, left ed  ed  .   .   ed  ed  ed  ed  ed  ed  .   ed  .
//   deadline      .   en  en  en  en  .   .   fr  fz  .   .   .   .
//   deadline, 2nd en  en  en  en  en  .   .   fr  fz  .   .   .   .
//   found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   no channel    en  en  .   .   .   .   .   .   .   .   .   .   .
//   unfit         .   .   .   en  .   .   .   .   .   .   .   .   .
//   unheard       .   .   .   .   ac  .   .   .   .   .   .   .   .
//   becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .
//   stale, read   en  en  .   en  .   .   .   .   .   .   .   .   .
//   misfired      en  en  .   .   .   .   .   .   .   .   .   .   .
//   no lock       .   .   .   .   .   .   .   fr  .   .   .   .   .
//   locked        .   .   .   .   .   .   .   en  .   .   .   .   .
//   unconnected   .   .   .   .   .   .   .   fr  .   .   .   .   .
//   connected     .   .   .   .   .   .   .   .   .   bg  .   .   .
//   untraced      .   .   .   .   .   .   .   .   .   .   .   .   .
//   pressure      en  en  .   .   .   .   .   en  en  en  .   .   .
//   stall         en  en  .   .   .   .   .   en  en  en  .   .   .
//   own stall     .   .   .   .   .   .   .   en  .   .   .   .   .
//   measured      .   en  .   .   .   .   .   .   .   .   .   .   .
//   launch        .   go  .   .   .   ac  .   ac  ac  ac  .   .   .
//   trigger       .   go  --  --  --  --  --  --  bg  bg  --  --  .
//   connection    .   go  .   .   .   .   .   .   bg  bg  .   .   .
//   called        .   go  .   .   .   .   .   .   .   .   .   .   .
//   foreground    --  --  .   .   .   ac  .   ac  ac  ac  --  --  --
//   background    --  --  .   .   .   bg  bg  .   bg  bg  --  --  --
//   suspend       --  --  --  --  --  fr  fr  fr  .   .   --  --  --
//   resume        --  --  .   .   .   .   .   .   bg  bg  --  --  --
//   interrupt     --  --  .   .   .   .   in  --  --  --  --  --  --
//   endInterrupt  --  --  .   .   .   ac  .   .   .   .   --  --  --
//   terminate     en  en  en  en  en  en  en  en  en  en  .   .   --
//   forceQuit     en  en  en  en  en  en  en  en  en  en  .   .   --
//   show scene    --  --  --  --  --  --  --  --  --  --  --  --  --
//   task began    .   .   .   .   .   .   .   .   .   .   .   .   .
//   task ended    .   .   .   .   .   .   .   .   .   .   .   .   .
//   in front      .   .   .   .   .   .   .   ac  ac  ac  .   .   .
//   not in front  .   .   .   .   .   bg  bg  .   .   .   .   .   .
//   lock          .   .   .   .   .   .   in  .   .   .   .   .   .
//   logged out    en  en  .   .   .   .   .   .   .   .   .   .   .
//   planned       en  en  .   .   .   .   .   .   .   .   .   .   .
//   active        en  en  .   .   .   .   .   .   .   .   .   .   .
//   policy        en  en  .   .   .   .   .   .   .   .   .   .   .
//   installed     en  en  .   .   .   .   .   .   .   .   .   .   .
//   removed       en  en  .   .   .   .   .   .   .   .   .   .   .
//   restored      en  en  .   .   .   .   .   .   .   .   .   .   .
//   shutdown      en  en  en  en  en  en  en  en  en  en  .   .   .
//
// For an app that acknowledges its states. Where a program moves at once, this table has a `.`,
// because the app moves only when it has acknowledged. A suspended app is thawed first:
//
//                 pw  pa  or  go  st  ar  in  ac  bg  fr  fz  en  em  ed
//   spawned       .   .   st  .   .   .   .   .   .   .   .   .   .   .
//   spawned, exec .   .   in  .   .   .   .   .   .   .   .   .   .   .
//   spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
//   paused        pa  .   .   en  .   .   .   .   .   .   .   .   .   .
//   started       .   .   .   st  .   .   .   .   .   .   .   .   .   .
//   started, exec .   .   .   in  .   .   .   .   .   .   .   .   .   .
//   channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .   .
//   becameReady   .   .   in  in  in  .   .   .   .   .   .   .   .   .
//   ready, scenes .   .   ar  ar  ar  .   .   .   .   .   .   .   .   .
//   acknowledged  .   .   .   .   .   in  ac  .   .   .   .   .   .   .
//   other step    .   .   .   .   .   bg  bg  in  in  .   .   .   .   .
//   frozen        .   .   .   .   .   .   .   .   .   fz  .   .   .   .
//   freezeFailed  .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
//   exited        em  em  em  em  em  em  em  em  em  em  em  em  .   .
//   exited, empty ed  ed  em  em  ed  ed  ed  ed  ed  ed  ed  em  .   .
//   emptied       .   .   .   .   .   .   .   .   .   .   .   .   ed  .
//   emptied, left ed  ed  .   .   ed  ed  ed  ed  ed  ed  ed  .   ed  .
//   deadline      .   en  .   en  .   .   .   .   fr  fz  .   .   .   .
//   deadline, 2nd en  en  .   en  .   .   .   .   fr  fz  .   .   .   .
//   found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
//   no channel    en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   unfit         .   .   .   en  .   .   .   .   .   .   .   .   .   .
//   unheard       .   .   .   .   .   .   .   .   .   .   .   .   .   .
//   becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   stale, read   en  en  .   en  .   .   .   .   .   .   .   .   .   .
//   misfired      en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   no lock       .   .   .   .   .   .   .   .   fr  .   .   .   .   .
//   locked        .   .   .   .   .   .   .   .   en  .   .   .   .   .
//   unconnected   .   .   .   .   .   .   .   .   fr  .   .   .   .   .
//   connected     .   .   .   .   .   .   .   .   .   .   bg  .   .   .
//   untraced      .   .   en  .   en  en  en  .   .   .   .   .   .   .
//   pressure      en  en  .   .   .   .   .   .   en  en  en  .   .   .
//   stall         en  en  .   .   .   .   .   .   en  en  en  .   .   .
//   own stall     .   .   .   .   .   .   .   .   en  .   .   .   .   .
//   measured      .   en  .   .   .   .   .   .   .   .   .   .   .   .
//   launch        .   go  .   .   .   .   .   .   .   bg  bg  .   .   .
//   trigger       .   go  --  --  --  --  --  --  --  bg  bg  --  --  .
//   connection    .   go  .   .   .   .   .   .   .   bg  bg  .   .   .
//   called        .   go  .   .   .   .   .   .   .   .   .   .   .   .
//   foreground    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
//   background    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
//   suspend       --  --  --  --  --  --  .   .   fr  .   .   --  --  --
//   resume        --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
//   interrupt     --  --  .   .   .   .   .   .   --  --  --  --  --  --
//   endInterrupt  --  --  .   .   .   .   .   .   .   .   .   --  --  --
//   terminate     en  en  en  en  en  en  en  en  en  en  en  .   .   --
//   forceQuit     en  en  en  en  en  en  en  en  en  en  en  .   .   --
//   show scene    --  --  --  --  --  .   .   .   .   bg  bg  --  --  --
//   task began    .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
//   task ended    .   .   .   .   .   .   .   .   fr  .   .   .   .   .
//   in front      .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
//   not in front  .   .   .   .   .   .   .   .   .   .   .   .   .   .
//   lock          .   .   .   .   .   .   .   .   .   .   .   .   .   .
//   logged out    en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   planned       en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   active        en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   policy        en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   installed     en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   removed       en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   restored      en  en  .   .   .   .   .   .   .   .   .   .   .   .
//   shutdown      en  en  en  en  en  en  en  en  en  en  en  .   .   .
//
// A test runs each pair, goes over all events, and compares the result with the simulator's own
// page (`PhaseTable`, `Movement`), and the simulator's checker allows no other change of a phase.

extension Phase {
    /// The phases that may follow this one.
    public var successors: [Phase] {
        switch self {
        case .prewarming: [.paused, .ending, .emptying, .ended]
        case .paused: [.toldToGo, .ending, .emptying, .ended]
        case .ordered: [.starting, .ending, .emptying, .ended]
        case .toldToGo: [.starting, .ordered, .ending, .emptying, .ended]
        case .starting: [.arriving, .inactive, .background, .ending, .emptying, .ended]
        case .arriving: [.inactive, .background, .ending, .emptying, .ended]
        case .inactive: [.active, .background, .ending, .emptying, .ended]
        case .active: [.inactive, .ending, .emptying, .ended]
        case .background: [.inactive, .freezing, .ending, .emptying, .ended]
        case .freezing: [.frozen, .background, .ending, .emptying, .ended]
        case .frozen: [.background, .ending, .emptying, .ended]
        case .ending: [.emptying, .ended]
        case .emptying: [.ended]
        case .ended: []
        }
    }

    /// Whether an instance may be in `next` after a change of its record.
    func allows(_ next: Phase) -> Bool { next == self || successors.contains(next) }

    /// The state that clients see.
    public var state: ExecutionState {
        switch self {
        case .prewarming: .prewarming
        case .paused: .prewarmed
        case .ordered, .toldToGo, .starting, .arriving: .launching
        case .inactive: .inactive
        case .active: .active
        case .background: .background
        case .freezing, .frozen: .suspended
        case .ending, .emptying: .terminating
        case .ended: .notRunning
        }
    }
}

extension ExecutionState {
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
        var next = old
        (next.course, next.end, next.deadline) = (course, end, deadline)
        precondition(
            old.phase.successors.contains(next.phase),
            "illegal: \(old.phase) to \(next.phase) of \(id)")
        let state = end.state(on: course)
        if old.state == .prewarming, state != .prewarmed, let claim = removeClaim(of: id) {
            lostClaims.append(claim)
        }
        removeFromIndices(old)
        reviewSocket(of: old.app)
        self[id].suspension.stateChanged(to: state)
        if old.state == .prewarmed { deadlines.remove(.air(id)) }
        update(id) { [now] in
            $0.course = course
            $0.end = end
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

    /// A prewarm takes no processor time from others unless somebody waits for it, or it has not
    /// paused in time.
    private func preparingPriority(_ record: InstanceRecord) -> Priority {
        if let claim = table[record.instance]?.claim {
            return claim.launch.inBackground ? .background : .foreground
        }
        let isHurried = table[record.instance]?.preparation?.isHurried == true
        return isHurried || isPrewarmAwaited(record.app) ? .prewarmed : .preparing
    }
}
