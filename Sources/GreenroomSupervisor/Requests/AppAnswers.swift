internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle

extension AppEvent.Answer {
    /// The answer to a request of an instance that has too many requests under way.
    static var tooManyRequests: AppEvent.Answer {
        .refused(
            code: EAGAIN,
            reason:
                "\(Requests.limitPerInstance) requests of this app are under way; ask again when one "
                + "of them is answered")
    }
}
