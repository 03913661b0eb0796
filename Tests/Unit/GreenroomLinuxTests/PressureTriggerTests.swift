import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

@Suite struct `A pressure trigger` {
    /// A file replaces the kernel's, so that the test can choose its totals.
    @Test func `is believed only if the stalls since its creation reach its threshold`() throws {
        let folder = try TemporaryDirectory()
        let stranger = try Disposer().stranger(.max)
        func stalled(some: Int, full: Int) throws {
            try folder.write(
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=\(some)\n"
                    + "full avg10=0.00 avg60=0.00 avg300=0.00 total=\(full)\n", to: "memory")
        }
        for stall in [PressureTrigger.Stall.some, .full] {
            try stalled(some: 5_000_000, full: 4_000_000)
            let trigger = try PressureTrigger(
                stall, of: folder.path + "/memory", threshold: .milliseconds(100),
                closedBy: stranger)
            try stalled(some: 5_000_000, full: 4_000_000)
            #expect(!trigger.isTrue, "\(stall)")
            try stalled(some: 5_099_999, full: 4_099_999)
            #expect(!trigger.isTrue, "\(stall)")
            try stalled(
                some: stall == .some ? 5_100_000 : 5_000_000,
                full: stall == .full ? 4_100_000 : 4_000_000)
            #expect(trigger.isTrue, "\(stall)")
        }
    }

    @Test func `of the machine reports nothing while nothing has stalled`() throws {
        let path = "/proc/pressure/memory"
        guard access(path, R_OK | W_OK) == 0 else {
            return try requireOrSkip(false, "the kernel has no pressure stall information")
        }
        let trigger = try PressureTrigger(
            .full, of: path, threshold: .seconds(1), closedBy: try Disposer().stranger(.max))
        #expect(!trigger.isTrue)
    }

    /// The kernel takes a grace period of RCU to close one.
    @Test func `is not closed by the process that has it`() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/memory"
        try folder.write("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", to: "memory")
        let disposer = try Disposer()
        var trigger: PressureTrigger? = try PressureTrigger(
            .some, of: path, threshold: .milliseconds(100), closedBy: disposer.stranger(.max))
        let number = trigger!.descriptor.rawValue
        trigger = nil
        #expect(leads(number, to: path), "it is closed already")
        _ = disposer.handOver()
        try Patience.wait("it is not closed") { !leads(number, to: path) }
    }

    /// Whoever freezes and thaws an app again and again could make triggers faster than they are
    /// closed.
    @Test func `counts until it is closed`() async {
        // In a process of its own, because other tests need descriptors, too.
        await #expect(processExitsWith: .exitCode(0)) {
            let folder = try TemporaryDirectory()
            let path = folder.path + "/memory"
            try folder.write("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", to: "memory")
            let disposer = try Disposer()
            let stranger = disposer.stranger(.max)
            for _ in 0..<600 {
                #expect(Self.leaves(stranger, path))
            }
            #expect(stranger.isOverdrawn)
        }
    }

    private static func leaves(_ stranger: Stranger, _ path: String) -> Bool {
        (try? PressureTrigger(
            .some, of: path, threshold: .milliseconds(100), closedBy: stranger)) != nil
    }

    private func leads(_ number: CInt, to path: String) -> Bool {
        var target = [CChar](repeating: 0, count: 4096)
        let count = max(0, readlink("/proc/self/fd/\(number)", &target, target.count))
        return target.prefix(count).map { UInt8(bitPattern: $0) } == Array(path.utf8)
    }
}
