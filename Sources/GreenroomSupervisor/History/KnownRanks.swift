internal import GreenroomControl
internal import GreenroomLifecycle

/// The latest ranks of single apps, so that whoever asks again and again does not start
/// greenroom-history each time. They are forgotten with the launches from which they were made.
struct KnownRanks {
    struct Question: Hashable {
        var app: String
        /// The user whose apps the client may see; nil means every user's.
        var user: UInt32?
    }

    /// What the plan was made from. If a request differs from it, all answers are forgotten.
    private var request = PlanRequest()
    private var answers: [Question: Control.PlanReport] = [:]
    private var validUntil = Instant(nanoseconds: 0)

    /// The hour and the weekday count as well, and they change slowly.
    private static let lifetime = Duration.seconds(60)
    /// More apps than a person asks about in that time.
    private static let limit = 64

    func answer(
        to question: Question, _ request: PlanRequest, at now: Instant
    ) -> Control.PlanReport? {
        now < validUntil && request == self.request ? answers[question] : nil
    }

    mutating func learn(
        _ report: Control.PlanReport, _ question: Question, _ request: PlanRequest,
        at now: Instant
    ) {
        if now >= validUntil || request != self.request || answers.count >= Self.limit {
            answers = [:]
            self.request = request
            validUntil = now.advanced(by: Self.lifetime)
        }
        answers[question] = report
    }
}
