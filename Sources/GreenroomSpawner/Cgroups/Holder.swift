internal import Glibc
public import GreenroomLinux

/// A process that does nothing. It exists because systemd removes the cgroup of a unit that has no
/// process.
///
/// The process is in a leaf cgroup, so that controllers can be enabled for the instances beside it.
/// The process does nothing that could crash.
public enum Holder {
    /// Moves to the leaf and waits for the signal that ends the process.
    public static func run() throws(SystemError) -> Never {
        guard let own = try CgroupLocation.own() else {
            throw SystemError(code: ENOENT, call: "finding the cgroup v2 hierarchy")
        }
        let base = try Cgroup(path: own)
        _ = try? base.createChild("holder")
        try base.child("holder").add(0)
        try? ServiceNotification.send("READY=1")
        OwnMemory.dropText()
        while true { pause() }
    }
}
