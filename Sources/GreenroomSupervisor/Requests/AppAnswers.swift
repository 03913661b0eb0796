internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle

extension AppEvent.Answer {
    /// The answer when more requests of one instance are under way than may be.
    static var tooManyRequests: AppEvent.Answer {
        .refused(
            code: EAGAIN,
            reason:
                "\(Requests.limitPerInstance) requests of this app are under way; ask again when one "
                + "of them is answered")
    }
}
