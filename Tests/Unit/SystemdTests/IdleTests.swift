import Glibc
import Testing

/// The loop has one thread and does not wake up while there is nothing to do. These tests check
/// that.
@Suite struct IdleTests {
    struct Usage: Equatable {
        var threads: Int
        var switches: Int
        /// A thread that waits for a processor does not sleep.
        var allSleep: Bool

        init(of pid: pid_t) {
            threads = 0
            switches = 0
            allSleep = true
            // /proc/PID/status is about the main thread only, so this counts every thread.
            guard let directory = opendir("/proc/\(pid)/task") else { return }
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
                }
                guard let thread = Int(name) else { continue }
                threads += 1
                let status = contents(of: "/proc/\(pid)/task/\(thread)/status")
                for line in status.split(separator: "\n") where line.contains("ctxt_switches") {
                    switches += Int(line.split(separator: "\t").last ?? "") ?? 0
                }
                if !status.contains("\nState:\tS") { allSleep = false }
            }
        }
    }

    /// Waits for longer than the period of Dispatch's timer. The child must neither print nor end.
    func window(_ child: Child) {
        #expect(!Child.becomes(POLLIN, child.output, milliseconds: 2500))
    }

    /// Waits until the child sleeps in its poll, so that what it does at start is not counted.
    func settle(_ child: Child) -> Usage {
        let end = ContinuousClock.now.advanced(by: .milliseconds(Child.deadlineMilliseconds))
        var usage = Usage(of: child.pid)
        while ContinuousClock.now < end {
            _ = Child.becomes(POLLIN, child.output, milliseconds: 10)
            let next = Usage(of: child.pid)
            if next == usage, next.allSleep { return usage }
            usage = next
        }
        Issue.record("it does not settle")
        return usage
    }

    @Test func `an idle loop has one thread and does not wake up`() {
        let child = Child(["idle"])
        #expect(child.line() == "ready")
        let before = settle(child)
        window(child)
        let after = Usage(of: child.pid)
        #expect(before.threads == 1)
        #expect(after.threads == 1)
        #expect(after.switches - before.switches == 0)
        child.endInput()
        #expect(child.finish().status == 0)
    }

    @Test func `the counter of the idle test notices a detached task`() {
        let child = Child(["detached"])
        #expect(child.line() == "ready")
        let before = settle(child)
        window(child)
        let after = Usage(of: child.pid)
        #expect(after.threads > 1 || after.switches > before.switches)
        child.endInput()
        #expect(child.finish().status == 0)
    }
}
