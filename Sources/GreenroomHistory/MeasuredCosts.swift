internal import GreenroomControl

/// What prewarming an app takes and what it saves, by a user's latest rows, which also a former
/// daemon may have written. Times are in milliseconds.
///
///     saved    the app says when it is ready → the shortest time until a cold launch was ready,
///                                              minus the shortest from the pool at this depth
///              otherwise                     → the shortest time from spawn to pause at this depth,
///                                              because a cold launch has to do the same
///     taken    the average processor time of preparing an instance to this depth
///
/// Until the first row at this depth, both are the time that the last prewarm took, and before that
/// an assumed time. The shortest times count, because everything else that the machine does only
/// makes a time longer, and prewarms run at the lowest priority.
struct MeasuredCosts {
    /// At most this many of an app's latest rows count. Older ones may be about another version of
    /// it.
    static let sampleLimit = 10
    /// The assumed time to prepare an instance until it is measured.
    private static let assumedPreparation = 50.0

    private struct Samples {
        var times: [Double] = []

        mutating func add(_ uSec: Int64?) {
            guard let uSec, uSec >= 0, times.count < MeasuredCosts.sampleLimit else { return }
            times.append(Double(uSec) / 1000)
        }

        var shortest: Double? { times.min() }
        var average: Double? {
            times.isEmpty ? nil : times.reduce(0, +) / Double(times.count)
        }
    }

    private struct Prepared: Hashable {
        var app: String
        var depth: Control.Word<Control.PrewarmDepth>?
    }

    private var preparations: [Prepared: Samples] = [:]
    private var processorTimes: [Prepared: Samples] = [:]
    private var cold: [String: Samples] = [:]
    private var fromPool: [Prepared: Samples] = [:]
    /// The instances that were launched from the pool, and when. Their numbers begin again at each
    /// boot.
    private var launched: [UInt64: [(until: Int64, prepared: Prepared)]] = [:]

    /// - Parameters:
    /// - pauses: the user's paused instances, the latest first.
    /// - launches: the user's launches, the latest first.
    init(_ pauses: [Control.PauseRecord], _ launches: [Control.LaunchRecord]) {
        for pause in pauses {
            let prepared = Prepared(app: pause.app, depth: pause.depth)
            preparations[prepared, default: Samples()].add(pause.preparationUSec)
            processorTimes[prepared, default: Samples()].add(pause.processorUSec)
            if pause.kind == .known(.prewarmed) {
                launched[pause.instance, default: []].append((pause.untilTimestampUSec, prepared))
            }
        }
        for launch in launches {
            switch launch.kind.known {
            case .cold: cold[launch.app, default: Samples()].add(launch.readyUSec)
            case .prewarmed:
                guard let prepared = prepared(for: launch) else { continue }
                fromPool[prepared, default: Samples()].add(launch.readyUSec)
            case .startedAnew, .resume, .foreground, nil: break
            }
        }
    }

    /// The instance that served the launch: its pause is the first to end after the request.
    private func prepared(for launch: Control.LaunchRecord) -> Prepared? {
        let paused = launched[launch.instance, default: []].filter {
            $0.until >= launch.requestTimestampUSec && $0.prepared.app == launch.app
        }
        return paused.min { $0.until < $1.until }?.prepared
    }

    func saved(_ app: PlanRequest.App) -> Double {
        let prepared = Prepared(app: app.app, depth: app.depth)
        if app.tellsReadiness, let cold = cold[app.app]?.shortest,
            let fromPool = fromPool[prepared]?.shortest
        {
            return max(0, cold - fromPool)
        }
        return preparations[prepared]?.shortest ?? Self.last(app)
    }

    func taken(_ app: PlanRequest.App) -> Double {
        processorTimes[Prepared(app: app.app, depth: app.depth)]?.average ?? Self.last(app)
    }

    private static func last(_ app: PlanRequest.App) -> Double {
        app.preparationUSec.map { Double($0) / 1000 } ?? assumedPreparation
    }
}
