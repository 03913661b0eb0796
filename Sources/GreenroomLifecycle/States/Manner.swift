// The one fork between programs and apps that acknowledge their states:
//
//                        a program                      an app that acknowledges
//   to the front         is there at once               is told; is there when it says so
//   to the background    is there at once               is told; is there when it says so
//   a client's wish      answered at once               answered when it is where it shall be
//   to be suspended      frozen                         told to leave the front first, then frozen
//   to end gently        SIGTERM; thawed if suspended   willTerminate; SIGKILL if suspended
//
// An app acknowledges from the moment when it is ready (`Conversation`); until then it is launched like a
// program.

enum Manner: Hashable, Sendable {
    case program
    case acknowledging
}

/// How the end of an instance begins.
enum EndOrder: Hashable, Sendable {
    case kill
    case terminate
    case thawAndTerminate
    /// It is told, and ends by itself.
    case tell
}

extension InstanceRecord {
    var manner: Manner { conversation == nil ? .program : .acknowledging }

    /// It holds the front of its group: it is there or, if it acknowledges its states, on its way.
    /// One that was displaced and is still leaving does not.
    public var isInFront: Bool {
        switch manner {
        case .program: state.isForeground
        case .acknowledging: !inBackground && state.isRunning && state != .suspended
        }
    }

    /// How it is ended gently: nothing has run that could clean up before its launch is decided.
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

    /// A client wants it somewhere.
    mutating func apply(
        _ transition: Transition, to id: InstanceIdentifier, _ request: RequestIdentifier
    ) {
        switch (self[id].record.manner, transition) {
        case (.program, .suspend): freeze(id, for: request)
        case (.program, _): move(transition, id, for: request)
        case (.acknowledging, .suspend):
            // It is frozen when it has left the front.
            if self[id].record.state == .suspended { return freeze(id, for: request) }
            self[id].freezeWaiters.append(request)
            requests[request] = .freeze(id)
            sendToBackground(id)
        case (.acknowledging, _): tell(transition, id, for: request)
        }
    }
}
