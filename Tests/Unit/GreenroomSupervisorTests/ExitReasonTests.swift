import GreenroomControl
import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

@Suite struct `Each reason to end` {
    @Test func `has a word in the interface, and each word in the interface has a reason`() {
        let words = ExitReason.allCases.map { Control.ExitReason($0).rawValue }
        #expect(words.sorted() == Control.ExitReason.allCases.map(\.rawValue).sorted())
    }

    @Test(arguments: ExitReason.allCases)
    func `that developers are told is logged as a warning and counts in the metrics`(
        reason: ExitReason
    ) {
        guard reason.row.isDiagnosed else { return }
        #expect(reason.row.level == .warning)
        #expect(reason.row.metric != .nothing)
    }
}
