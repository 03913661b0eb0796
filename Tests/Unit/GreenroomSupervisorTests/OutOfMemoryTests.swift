import Glibc
import GreenroomLifecycle
import GreenroomLinux
@testable import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Reclaiming`. The machine, and the cgroup of an instance, are folders with the files
// that the kernel would have.

@Suite struct `An end by SIGKILL` {
    @LoopActor
    private struct Machine {
        let ground: Ground
        let ends: OutOfMemoryEnds
        private static let kill = ExitStatus.signaled(UInt8(SIGKILL), coreDumped: false)

        init() throws {
            ground = try Ground()
            ground.core.begin(performing: ground.recorder)
            for folder in ["proc", "cgroups"] { mkdir("\(ground.folder.path)/\(folder)", 0o755) }
            try ground.folder.write("oom_kill 3\n", to: "proc/vmstat")
            ends = OutOfMemoryEnds(
                core: ground.core, instances: ground.instances,
                machine: MachineCondition(root: ground.folder.path))
            ground.instances.use(cgroups: try Cgroup(path: ground.folder.path + "/cgroups"))
        }

        func begin(_ app: String, _ number: UInt64, inCgroup: Bool) throws -> InstanceIdentifier {
            ground.launch(app, as: number)
            let instance = try #require(ground.recorder.spawned.last)
            if inCgroup { mkdir("\(ground.folder.path)/cgroups/\(app)", 0o755) }
            _ = ground.instances.add(
                TableEntry(
                    instance: instance.rawValue, app: app, pid: getpid(), status: nil,
                    isEmptied: false, isGuarded: false, cgroupName: inCgroup ? app : nil,
                    process: try ProcessDescriptor(pid: getpid()), channel: nil))
            ground.core.handle(.spawned(instance))
            return instance
        }

        func end(_ instance: InstanceIdentifier) -> ExitReason? {
            ends.examine(instance, Self.kill)
            ground.core.handle(.exited(instance, Self.kill))
            return ground.core.lifecycle.instance(instance)?.endReason
        }
    }

    @Test func `was probably for lack of memory if the machine has counted one more such kill`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let machine = try Machine()
                let first = try machine.begin("a.a", 1, inCgroup: false)
                let second = try machine.begin("a.b", 2, inCgroup: false)
                let third = try machine.begin("a.c", 3, inCgroup: false)
                #expect(machine.end(first) == .crashed)
                try machine.ground.folder.write("oom_kill 4\n", to: "proc/vmstat")
                #expect(machine.end(second) == .probablyOutOfMemory)
                // The kill accounts for one end only.
                #expect(machine.end(third) == .crashed)
            }
        }
    }

    @Test func `was for lack of memory if the instance's own cgroup has counted it`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let machine = try Machine()
                let folder = machine.ground.folder
                let killed = try machine.begin("a.a", 1, inCgroup: true)
                let survivor = try machine.begin("a.b", 2, inCgroup: true)
                for app in ["a.a", "a.b"] {
                    try folder.write("oom 1\noom_kill 1\n", to: "cgroups/\(app)/memory.events")
                }
                // One of its children was killed, and it lives on.
                let cgroup = try #require(machine.ground.instances[survivor]?.cgroup)
                machine.ends.survived(survivor, in: cgroup)
                // The machine's count says nothing where a cgroup has its own.
                try folder.write("oom_kill 4\n", to: "proc/vmstat")
                #expect(machine.end(killed) == .outOfMemory)
                #expect(machine.end(survivor) == .crashed)
            }
        }
    }
}
