internal import Glibc
public import GreenroomLinux

/// A process that does nothing: systemd gives up the cgroup of a unit that has none.
///
/// It stands in a leaf, so that controllers can be enabled for the instances beside it. There is
/// nothing in it that could crash.
public enum Holder {
    /// Takes its place and waits for the signal that ends it.
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
