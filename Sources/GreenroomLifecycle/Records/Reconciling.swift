// Compares the records with what the shell finds: after a restart of the supervisor or of the
// spawner, and when a paused instance is about to be told to go.
//
//   found        prewarming       paused     ordered          told to go            all others
//   nothing      ordered again    ended      spawn failed     started, ended        ended
//   remains      ordered again    ended      spawned, ended   started, ended        ended
//   no channel   prewarm failed   the same   -                awaits its start      -
//   unfit        -                -          -                go failed             -
//   unheard      -                -          -                -                     counts as ready
//
// A launch that may have run counts as one that ran. If it were reported as failed, its client
// would repeat it under the same name, and the app might run twice.
//
// An instance without a channel that was told to go has started when it has closed its end, when it
// has ended, or when the time for its start is over: a paused one would have ended, and one that has
// ended may wait seconds for its parent to reap it.
//
// `unheard` matters only to a program that is starting: `Manner` says what follows.

/// What the shell finds when nobody can tell what has happened to an instance.
public enum ReconciledFinding: Hashable, Sendable {
    /// No process of the instance exists: the order to spawn it was not carried out, or its spawner
    /// died.
    case nothing
    /// The spawner does not know the instance, but a process of it was found. The shell has ended
    /// it.
    case remains
    /// The channel is lost. The main process exists, or (`hasEnded`) its end is reported next.
    case noChannel(hasEnded: Bool)
    /// A file that the paused instance was made from has changed, or the instance does not answer.
    case unfit
    /// The main process exists, or its end is reported next. Everything that the instance has
    /// reported since the former supervisor ended is lost.
    case unheard
}

extension InstanceRecord {
    /// Whether an order to spawn the instance is still valid if it was not carried out: the
    /// instance has not been ended in the meantime.
    public var awaitsSpawn: Bool { phase == .prewarming || phase == .ordered }
}

extension Lifecycle {
    mutating func reconciled(_ id: InstanceIdentifier, _ finding: ReconciledFinding) {
        guard let record = table[id]?.record, record.state != .notRunning else { return }
        switch finding {
        case .nothing: vanished(record, mayHaveRun: false)
        case .remains: vanished(record, mayHaveRun: true)
        case .noChannel(let hasEnded): lostChannel(record, hasEnded: hasEnded)
        case .unfit:
            if record.phase == .toldToGo { goFailed(id) }
        case .unheard:
            if record.phase == .starting { mayBeReady(id) }
        }
    }

    private mutating func vanished(_ record: InstanceRecord, mayHaveRun: Bool) {
        let id = record.instance
        switch record.phase {
        case .prewarming:
            // The app is not at fault, and the record suffices to order the instance again. It gets
            // the list of libraries that the app has now.
            self[id].preparation?.libraries = .current()
            return effects.append(
                .spawn(id, record.app, .prewarm(record.environmentKey, record.depth)))
        case .ordered where !mayHaveRun:
            let canceled: Int32 = 125
            return spawnFailed(id, SpawnFailure(stage: "reaching the spawner", errno: canceled))
        case .ordered: spawned(id)
        case .toldToGo: started(id)
        case .paused, .starting, .arriving, .inactive, .active, .background, .freezing, .frozen,
            .ending, .emptying, .ended:
            break
        }
        exited(id, .unknown)
        emptied(id)
    }

    /// A paused instance exits when it finds nobody at the other end of its channel. An instance
    /// that was told to go closes its own end when it starts.
    private mutating func lostChannel(_ record: InstanceRecord, hasEnded: Bool) {
        let id = record.instance
        switch record.phase {
        // If the instance has ended, its end says more than the loss of its channel.
        case .prewarming, .paused: if !hasEnded { pausedChannelLost(id) }
        case .toldToGo:
            self[id].prewarm = .toldToGo(hasChannel: false)
            if !hasEnded { effects.append(.awaitStart(id)) }
        case .ordered, .starting, .arriving, .inactive, .active, .background, .freezing, .frozen,
            .ending, .emptying, .ended:
            break
        }
    }
}
