import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

@Suite struct `A pressure trigger` {
    /// A file replaces the kernel's, so that the test can choose its totals.
    @Test func `is believed only if the stalls since its creation reach its threshold`() throws {
        let folder = try TemporaryDirectory()
        func stalled(some: Int, full: Int) throws {
            try folder.write(
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=\(some)\n"
                    + "full avg10=0.00 avg60=0.00 avg300=0.00 total=\(full)\n", to: "memory")
        }
        for stall in [PressureTrigger.Stall.some, .full] {
            try stalled(some: 5_000_000, full: 4_000_000)
            let trigger = try PressureTrigger(
                stall, of: folder.path + "/memory", threshold: .milliseconds(100))
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
        let trigger = try PressureTrigger(.full, of: path, threshold: .seconds(1))
        #expect(!trigger.isTrue)
    }
}
