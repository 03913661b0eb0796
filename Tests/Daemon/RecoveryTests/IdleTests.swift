import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// The cost of an idle daemon.
@Suite struct IdleTests {
    @Test func `ten prewarmed apps cost no wake-up and no thread`() throws {
        let probe = try compileProbe("behave.c")
        let names = (0..<10).map { "org.example.idle\($0)" }
        let daemon = try TestDaemon(names.map { program($0, probe, prewarm: 1) })
        for name in names { try daemon.awaitPaused(name) }
        let pids = [try daemon.pid, try daemon.spawnerPid]
        // The status text follows a second after the last change, or later on a busy machine; after
        // that, nothing is due.
        var before: [Int] = []
        try Processes.wait("they do not come to rest") {
            before = pids.map(switches)
            try awaitTimer(milliseconds: 2500)
            // A process that waits for a processor is not at rest.
            return pids.map(switches) == before
                && pids.allSatisfy { Processes.state(of: $0) == "S" }
        }
        try awaitTimer(milliseconds: 3000)
        #expect(pids.map(switches) == before)
        for pid in pids { #expect(KernelObjects.threadCount(of: pid) == 1) }
        // The counter notices a wake-up.
        _ = try daemon.client().describe()
        try Processes.wait("no wake-up is counted") { switches(of: pids[0]) > before[0] }
    }
}
