import GreenroomLinux
import Testing

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
