internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What this supervisor knows of the pause of an instance.
@LoopActor
final class InstancePause: InstancePart {
    /// When the instance reached its pause; nil if it has told only a former supervisor.
    var reachedAt: Instant?
    /// True if this supervisor has inspected the instance at its pause.
    var isInspected = false
    /// The words before the launch's own arguments: for a script, its interpreter and path
    /// (execve(2)). Known once the instance is inspected.
    var argumentPrefix: [ByteString] = []
    /// The directory in which a program that is held at its window has started; nil if it is not
    /// known.
    var startPlace: FilePlace?

    /// The cookie of the question whether the instance is still paused, until it is answered.
    private var cookie: UInt64?

    /// Makes the cookie of a new question. No former supervisor gave the same cookie: answers to
    /// its questions may still be on their way.
    func ask() -> UInt64 {
        let new = MonotonicClock.nanoseconds
        cookie = new
        return new
    }

    /// True for the answer to the open question.
    func takeAnswer(_ answer: UInt64) -> Bool {
        guard cookie == answer else { return false }
        cookie = nil
        return true
    }

    /// Called when the instance is told to go: an answer that is still on its way means nothing any
    /// more.
    func forgetQuestion() { cookie = nil }
}

extension Instance {
    var pause: InstancePause { parts.part() }
}
