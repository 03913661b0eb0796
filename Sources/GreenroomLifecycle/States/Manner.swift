// How programs and apps that acknowledge differ when the same thing happens:
//
//                        a program                      an app that acknowledges
//   becomes ready        comes to the front, or goes    is told its first step
//                        to the background
//   is not ready in time ended                          ended, unless a debugger holds it
//   may be ready unheard counts as ready                is asked again
//   connection starts it in front                       in the background
//   to the front         moves at once                  is told, and moves when it acknowledges
//   to the background    moves at once                  is told, and moves when it acknowledges
//   interrupted          moves at once                  is told, and moves when it acknowledges
//   a client's request   answered at once               answered when it has reached its goal
//   to be suspended      frozen                         told to leave the front, then frozen
//   to end gently        SIGTERM; thawed if suspended   willTerminate; SIGKILL if suspended
//   ends by itself       the rest may keep running      the rest is ended
//   ends with 0 soon     the app's other instance       the same before it is ready, nothing
//   after its launch     comes to the front             after that
//   named by a shell     comes to the front when it     the same before it is ready, told after
//   while it launches    is ready                       that
//
// An app acknowledges its states from the moment it is ready (`Conversation`), so from then on the
// instance's record decides which column applies. Before that, and after its end, the manifest
// decides. (The last two rows ask the record alone, so until it is ready, an app that acknowledges
// counts as a program there.) What only apps that acknowledge have (steps, notices, scenes, tasks,
// saved state) is in separate files, which skip programs.

enum Manner: Hashable, Sendable {
    case program
    case acknowledging
}

/// How the end of an instance begins.
enum EndOrder: Hashable, Sendable {
    case kill
    case terminate
    case thawAndTerminate
    /// The app is told to end, and exits by itself.
    case tell
}

extension InstanceRecord {
    var manner: Manner { conversation == nil ? .program : .acknowledging }

    /// Whether the instance is in front of its group or, if the app acknowledges its states, on its
    /// way there. An instance that was displaced and is still leaving is not in front.
    public var isInFront: Bool {
        switch manner {
        case .program: state.isForeground
        case .acknowledging: !inBackground && state.isRunning && state != .suspended
        }
    }

    /// Whether the instance is in front, or comes to the front when it is ready.
    var belongsInFront: Bool { isInFront || state == .launching && !inBackground }

    /// Whether the instance may have a URL opened. The app that opens it comes to the front, so
    /// only an app that the user is looking at may ask.
    public var mayOpenURL: Bool { isInFront }

    /// How a gentle end of the instance begins. Before its launch is decided, nothing has run that
    /// needs to clean up.
    var gentleEnd: EndOrder {
        guard exitStatus == nil else { return .kill }
        switch (phase, manner) {
        case (.prewarming, _), (.paused, _), (.ordered, _), (.toldToGo, _), (.ending, _),
            (.emptying, _), (.ended, _):
            return .kill
        case (.starting, .program), (.arriving, .program), (.inactive, .program),
            (.active, .program), (.background, .program):
            return .terminate
        case (.freezing, .program), (.frozen, .program): return .thawAndTerminate
        case (.starting, .acknowledging), (.arriving, .acknowledging), (.inactive, .acknowledging),
            (.active, .acknowledging), (.background, .acknowledging):
            return .tell
        // A suspended app ends without a callback, as in UIKit.
        case (.freezing, .acknowledging), (.frozen, .acknowledging): return .kill
        }
    }

    /// How a new supervisor continues a gentle end that the former one began.
    var continuedEnd: EndOrder {
        switch (manner, lastState) {
        case (.acknowledging, .suspended?): .kill
        case (.acknowledging, .some(let state)) where state.isRunning: .tell
        case (.program, _), (.acknowledging, _): .thawAndTerminate
        }
    }
}

extension Lifecycle {
    /// The manner that the app's manifest declares.
    func manner(of app: AppIdentifier) -> Manner {
        directory[app]?.description?.acknowledges == true ? .acknowledging : .program
    }

    /// The instance's ready condition is met.
    mutating func enter(_ id: InstanceIdentifier) {
        let app = self[id].record.app
        switch manner(of: app) {
        case .program:
            // The manifest may have changed in the meantime, so that the app is now a program.
            updateBackground(id) { $0 = BackgroundTime() }
            if self[id].record.inBackground { sendToBackground(id) } else { activate(id) }
            answerGoal(of: id, .done(id, self[id].record.state))
        case .acknowledging: beginConversation(id)
        }
    }

    /// The instance's ready condition was not met by its deadline.
    mutating func launchTimedOut(_ id: InstanceIdentifier) {
        let app = self[id].record.app
        switch manner(of: app) {
        case .program:
            launchFailed(app)
            end(id, .launchWatchdog, gently: false)
        case .acknowledging: becameOverdue(id)
        }
    }

    /// The instance is starting. It may have reported that it is ready while nobody listened.
    mutating func mayBeReady(_ id: InstanceIdentifier) {
        switch manner(of: self[id].record.app) {
        // A program reports only once. It is better to count it as ready too early than to end it
        // at its launch deadline.
        case .program: becameReady(id)
        // The shell asks the app to repeat what it has said.
        case .acknowledging: break
        }
    }

    /// Whether the app starts in the background when a connection starts it. No user asked to see
    /// it, so an app that acknowledges its states comes to the front only when somebody wants it.
    func startsInBackground(onConnectionTo app: AppIdentifier) -> Bool {
        manner(of: app) == .acknowledging
    }

    /// Whether processes that the program has started keep running after it ended by itself.
    func leavesRest(_ record: InstanceRecord) -> Bool {
        mayLeaveRest(record) && record.endReason == nil && record.launchedAt != nil
            && record.state != .suspended && record.state.isRunning && !isShuttingDown
    }

    private func mayLeaveRest(_ record: InstanceRecord) -> Bool {
        guard let description = directory[record.app]?.description,
            manner(of: record.app) == .program
        else { return false }
        return description.leavesRest ?? record.isAttached
    }

    /// Whether an instance that ends by itself counts as ended as soon as its main process has.
    /// Otherwise its other processes are ended first, and only then is anybody told.
    public func endsWithMainProcess(_ id: InstanceIdentifier) -> Bool {
        table[id].map { mayLeaveRest($0.record) } ?? false
    }

    /// Brings a running instance to the front. A suspended one must have been thawed.
    mutating func activate(_ id: InstanceIdentifier) {
        noteNamed(id)
        displace(for: id)
        if self[id].record.isInterrupted, self[id].record.state != .launching {
            update(id) { $0.isInterrupted = false }
        }
        switch self[id].record.manner {
        case .program: moveToFront(id)
        case .acknowledging: bringForward(id)
        }
    }

    /// Takes a running instance to the background; the grace before its suspension begins.
    mutating func sendToBackground(_ id: InstanceIdentifier) {
        switch self[id].record.manner {
        case .program: moveToBackground(id)
        case .acknowledging: sendBack(id)
        }
    }

    /// Carries out a client's request about the instance.
    mutating func apply(
        _ transition: Transition, to id: InstanceIdentifier, _ request: RequestIdentifier
    ) {
        switch (self[id].record.manner, transition) {
        case (.program, .suspend): freeze(id, for: request)
        case (.program, _): move(transition, id, for: request)
        case (.acknowledging, .suspend):
            // The app must leave the front before it is frozen.
            if self[id].record.state == .suspended { return freeze(id, for: request) }
            self[id].suspension.waiters.append(request)
            requests[request] = .freeze(id)
            sendToBackground(id)
        case (.acknowledging, _): tell(transition, id, for: request)
        }
    }
}
