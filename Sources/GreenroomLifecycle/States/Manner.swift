// What programs and apps that acknowledge their states do differently, all in one place:
//
//                        a program                      an app that acknowledges
//   to the front         moves at once                  is told, and moves when it acknowledges
//   to the background    moves at once                  is told, and moves when it acknowledges
//   a client's request   answered at once               answered when it has reached its goal
//   to be suspended      frozen                         told to leave the front, then frozen
//   to end gently        SIGTERM; thawed if suspended   willTerminate; SIGKILL if suspended
//
// An app acknowledges its states from the moment it is ready (`Conversation`). Until then it is
// treated like a program.

enum Manner: Hashable, Sendable {
    case program
    case acknowledging
}

/// How the end of an instance begins.
enum EndOrder: Hashable, Sendable {
    case kill
    case terminate
    case thawAndTerminate
    /// The app is told, and ends by itself.
    case tell
}

extension InstanceRecord {
    var manner: Manner { conversation == nil ? .program : .acknowledging }

    /// Whether the instance is in front of its group or, if the app acknowledges its states, on its
    /// way there. An instance that was displaced and is still leaving is not.
    public var isInFront: Bool {
        switch manner {
        case .program: state.isForeground
        case .acknowledging: !inBackground && state.isRunning && state != .suspended
        }
    }

    /// How the instance is ended gently. Before its launch is decided, nothing has run that would
    /// have to clean up.
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
        // A suspended app ends without a callback (UIKit).
        case (.freezing, .acknowledging), (.frozen, .acknowledging): return .kill
        }
    }
}

extension Lifecycle {
    /// Brings a running instance to the front. A suspended one must have been thawed.
    mutating func activate(_ id: InstanceIdentifier) {
        displace(for: id)
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

    /// Does what a client asks of the instance.
    mutating func apply(
        _ transition: Transition, to id: InstanceIdentifier, _ request: RequestIdentifier
    ) {
        switch (self[id].record.manner, transition) {
        case (.program, .suspend): freeze(id, for: request)
        case (.program, _): move(transition, id, for: request)
        case (.acknowledging, .suspend):
            // The app must leave the front before it is frozen.
            if self[id].record.state == .suspended { return freeze(id, for: request) }
            self[id].freezeWaiters.append(request)
            requests[request] = .freeze(id)
            sendToBackground(id)
        case (.acknowledging, _): tell(transition, id, for: request)
        }
    }
}
