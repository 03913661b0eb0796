import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// A cgroup for this test, below the test's own cgroup; nil if none can be made.
private final class OwnCgroup {
    let parent: Cgroup
    let cgroup: Cgroup
    let name: String

    init?(_ name: String) {
        self.name = "greenroom-test-\(getpid())-\(name)"
        guard let path = try? CgroupLocation.own(), let parent = try? Cgroup(path: path),
            let cgroup = try? parent.createChild(self.name)
        else {
            print("skipped: no cgroup v2 below our own can be made here")
            return nil
        }
        self.parent = parent
        self.cgroup = cgroup
    }

    deinit { _ = try? parent.removeChild(name) }
}

@Suite struct CgroupTests {
    private func sleeper(in cgroup: Cgroup, avoidsClone3: Bool = false) throws -> Spawned {
        var request = SpawnRequest(
            path: "/bin/sleep", arguments: ["sleep", "1000"], environment: [])
        request.cgroup = cgroup.directory
        request.avoidsClone3 = avoidsClone3
        return try request.spawn()
    }

    @Test(arguments: [false, true])
    func `a child is born in its cgroup`(_ avoidsClone3: Bool) throws {
        guard let own = OwnCgroup("born-\(avoidsClone3)") else { return }
        #expect(try !own.cgroup.isPopulated())
        let spawned = try sleeper(in: own.cgroup, avoidsClone3: avoidsClone3)
        #expect(try own.cgroup.processes() == [spawned.pid])
        #expect(try own.cgroup.isPopulated())
        #expect(try !own.parent.removeChild(own.name))
        try own.cgroup.kill()
        #expect(try spawned.process.wait() == .signaled(SIGKILL, coreDumped: false))
        #expect(try own.parent.removeChild(own.name))
        #expect(throws: SystemError.self) { try own.cgroup.isPopulated() }
    }

    @Test func `an open events file tells each time what is so then`() throws {
        guard let own = OwnCgroup("events") else { return }
        let events = try CgroupEvents(of: own.cgroup)
        #expect(try !events.isPopulated())
        let spawned = try sleeper(in: own.cgroup)
        #expect(try events.isPopulated())
        try own.cgroup.kill()
        _ = try spawned.process.wait()
        #expect(try !events.isPopulated())
        #expect(try own.parent.removeChild(own.name))
        #expect(throws: SystemError.self) { try events.isPopulated() }
    }

    @Test func `the processes below a cgroup are found, too`() throws {
        guard let own = OwnCgroup("below") else { return }
        let child = try own.cgroup.createChild("child")
        let grandchild = try child.createChild("child")
        let spawned = try [own.cgroup, grandchild].map { try sleeper(in: $0) }
        #expect(try own.cgroup.processes() == [spawned[0].pid])
        #expect(try own.cgroup.allProcesses().sorted() == spawned.map(\.pid).sorted())
        try own.cgroup.kill()
        for process in spawned { _ = try process.process.wait() }
        #expect(try own.parent.removeTree(own.name))
    }

    @Test func `a frozen cgroup reports that it is frozen, thaws, and can be killed while frozen`()
        throws
    {
        guard let own = OwnCgroup("frozen") else { return }
        let spawned = try sleeper(in: own.cgroup)
        try own.cgroup.freeze()
        try Patience.wait("it is not frozen") { try own.cgroup.isFrozen() }
        try own.cgroup.thaw()
        #expect(try !own.cgroup.isFrozen())
        try own.cgroup.freeze()
        try own.cgroup.kill()
        _ = try spawned.process.wait()
    }

    @Test func `inotify reports that a cgroup has become empty`() throws {
        guard let own = OwnCgroup("inotify") else { return }
        let inotify = try Inotify()
        let spawned = try sleeper(in: own.cgroup)
        try inotify.watch(
            "/proc/self/fd/\(own.cgroup.directory.rawValue)/cgroup.events", for: UInt32(IN_MODIFY))
        try own.cgroup.kill()
        _ = try spawned.process.wait()
        while try own.cgroup.isPopulated() {
            try #require(
                try inotify.descriptor.waitUntilReadable(milliseconds: Patience.milliseconds))
            _ = try inotify.read()
        }
    }

    @Test func `the hierarchy is found on unified and hybrid hosts`() throws {
        let hybrid = """
            31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
            32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
            41 31 0:38 / /sys/fs/cgroup/unified\\040v2 rw shared:5 master:1 - cgroup2 cgroup2 rw
            """
        #expect(
            try CgroupLocation.mountPoint(mountinfo: hybrid) == "/sys/fs/cgroup/unified v2")
        #expect(try CgroupLocation.mountPoint(mountinfo: "") == nil)
        #expect(CgroupLocation.path(in: "9:name=systemd:/x\n0::/a/b\n") == "/a/b")
        #expect(CgroupLocation.path(in: "1:cpu:/\n") == nil)
    }
}
