internal import Glibc
internal import GreenroomLinux

/// The instances that are traced on the way to their pause (``PrewarmGuard``).
struct Guards {
    var guarded: Set<UInt64> = []
    /// Stopped threads that are not yet known to belong to an instance.
    var unclaimedStops: [pid_t: Tracee.Stop] = [:]
    /// The errno of the failure if no instance can be traced.
    var refusal: CInt?
}
