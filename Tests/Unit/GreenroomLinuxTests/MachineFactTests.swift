import Glibc
import GreenroomLinux
import TestSupport
import Testing

@Suite struct `A default route` {
    private static let route =
        "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
        + "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n"

    private func machine(_ files: [String: String]) throws -> (TemporaryDirectory, MachineCondition)
    {
        let root = try TemporaryDirectory()
        for path in ["/proc", "/proc/1", "/proc/1/net", "/proc/net"] {
            mkdir(root.path + path, 0o755)
        }
        for (file, text) in files { try root.write(text, to: file) }
        return (root, MachineCondition(root: root.path))
    }

    @Test func `is the machine's, not that of a service with an empty network`() throws {
        let names = "Iface Destination\n"
        let (inside, service) = try machine([
            "proc/1/net/route": Self.route, "proc/net/route": names,
        ])
        let (outside, offline) = try machine([
            "proc/1/net/route": names, "proc/net/route": Self.route,
        ])
        withExtendedLifetime((inside, outside)) {
            #expect(service.hasDefaultRoute && !offline.hasDefaultRoute)
        }
    }

    @Test func `is the reader's own where process 1 is hidden`() throws {
        let (root, machine) = try machine(["proc/net/route": Self.route])
        withExtendedLifetime(root) { #expect(machine.hasDefaultRoute) }
    }
}

@Suite struct `Out-of-memory kills` {
    @Test func `are attributed to the cgroup whose limit was reached`() throws {
        let own = try #require(
            OutOfMemoryKills(memoryEvents: "low 0\nhigh 0\nmax 31\noom 1\noom_kill 1\n"))
        #expect(own.count == 1 && own.isOwnLimit)
        // The kernel leaves these counts after a kill for the machine or for a cgroup above.
        let others = try #require(
            OutOfMemoryKills(memoryEvents: "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n"))
        #expect(others.count == 1 && !others.isOwnLimit)
        #expect(OutOfMemoryKills(memoryEvents: "low 0\n") == nil)
    }

    @Test func `that were counted before are not counted again`() throws {
        let child = try #require(OutOfMemoryKills(memoryEvents: "oom 1\noom_kill 1\n"))
        #expect(child.since(nil) == child)
        #expect(child.since(child).count == 0 && !child.since(child).isOwnLimit)
        let later = try #require(OutOfMemoryKills(memoryEvents: "oom 1\noom_kill 2\n"))
        #expect(later.since(child).count == 1 && !later.since(child).isOwnLimit)
    }
}
