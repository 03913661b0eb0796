/// The times of a past launch, as the app remembers them: `CLOCK_MONOTONIC`, nanoseconds.
public struct LaunchSteps: Equatable, Sendable {
    /// When the launch was requested.
    public var requestedAt: UInt64
    /// When the prewarmed process paused; nil if it was not prewarmed.
    public var pausedAt: UInt64?
    /// When each step was first taken, in the order of the launch sequence.
    public var steps: [Step] = []
    /// The first draw, if the app has reported one.
    public var drawnAt: UInt64?

    public struct Step: Equatable, Sendable {
        public var step: AppReport.LaunchStep
        public var instant: UInt64

        public init(_ step: AppReport.LaunchStep, at instant: UInt64) {
            (self.step, self.instant) = (step, instant)
        }
    }

    public init(requestedAt: UInt64, pausedAt: UInt64? = nil, drawnAt: UInt64? = nil) {
        (self.requestedAt, self.pausedAt, self.drawnAt) = (requestedAt, pausedAt, drawnAt)
    }
}

extension LaunchSteps {
    var frame: AppFrame {
        var frame = AppFrame(.launchSteps, cookie: requestedAt)
        frame.fields.add("paused", pausedAt.map(String.init))
        for step in steps { frame.fields.add("step.\(step.step.rawValue)", String(step.instant)) }
        frame.fields.add("drawn", drawnAt.map(String.init))
        return frame
    }

    /// Unknown fields are ignored, as everywhere.
    init(_ frame: AppFrame) {
        self.init(requestedAt: frame.cookie)
        for (name, value) in frame.fields.pairs {
            guard let instant = UInt64(value) else { continue }
            if name == "paused" { pausedAt = instant }
            if name == "drawn" { drawnAt = instant }
            guard name.hasPrefix("step."), let number = Int32(name.dropFirst(5)),
                let step = AppReport.LaunchStep(rawValue: number),
                !steps.contains(where: { $0.step == step })
            else { continue }
            steps.append(Step(step, at: instant))
        }
    }
}
