internal import Glibc
internal import GreenroomLinux

/// The instances that are traced on the way to their pause (``PrewarmGuard``).
struct Guards {
    var guarded: Set<UInt64> = []
    /// Stops of threads that are not known to belong to an instance yet.
    var unclaimedStops: [pid_t: Tracee.Stop] = [:]
    /// The errno that says why no instance can be traced.
    var refusal: CInt?
}
