internal import GreenroomLifecycle
internal import Systemd

/// The core's answers, on their way to whoever asked.
@LoopActor
struct Answers {
    let requests: Requests
    let replies: Replies
    let appRequests: AppRequests
    let metrics: Metrics
    let accounts: LaunchAccounts

    /// Answers whoever asked, then tells the parts that keep accounts.
    func give(_ answer: Answer, to identifier: RequestIdentifier) {
        guard let request = requests.take(identifier) else { return }
        switch request.origin {
        case .client(let call): replies.answer(call, with: answer)
        case .app(let instance, let cookie?): appRequests.answer(answer, to: cookie, of: instance)
        case .app(_, nil), .daemon: break
        }
        if case .launched(let outcome, let inBackground) = answer, let context = request.context {
            accounts.answered(identifier, request, outcome)
            metrics.launched(
                outcome, inBackground: inBackground, requestedAt: context.requestedAt)
        }
        metrics.answered(answer, foregroundRequestedAt: request.foregroundRequestedAt)
    }
}
