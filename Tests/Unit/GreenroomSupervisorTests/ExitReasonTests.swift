import GreenroomControl
import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

@Suite struct `Each reason to end` {
    @Test func `has a word of the interface, and each word of the interface a reason`() {
        let words = ExitReason.allCases.map { Control.ExitReason($0).rawValue }
        #expect(words.sorted() == Control.ExitReason.allCases.map(\.rawValue).sorted())
    }

    @Test(arguments: ExitReason.allCases)
    func `that developers hear of is a warning and counts in the metrics`(reason: ExitReason) {
        guard reason.row.isDiagnosed else { return }
        #expect(reason.row.level == .warning)
        #expect(reason.row.metric != .nothing)
    }
}
