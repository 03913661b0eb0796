import GreenroomLifecycle
@testable import GreenroomSupervisor
import Testing

/// The apps of several users log without restraint.
@Suite struct `The log lines of an interval` {
    private func flood(_ counts: inout LineCounts, _ user: UInt32, apps: Int) -> Int {
        (0..<apps).reduce(0) { sum, number in
            let app = AppIdentifier("org.example.user\(user).app\(number)")
            return sum + (0..<5000).count { _ in counts.allow(app, of: user, .word) }
        }
    }

    @Test func `leave some for later users and root, however many apps one user has`() {
        var counts = LineCounts()
        let floods = [(12_347, 100), (12_348, 1), (12_349, 100), (12_350, 100), (0, 3)].map {
            flood(&counts, $0.0, apps: $0.1)
        }
        #expect(floods == [350, 50, 150, 75, 150])
        #expect(counts.suppressed[12_347]?.apps.count == 100)
        #expect(counts.suppressed[12_347]?.lineCount == 500_000 - 350)
        // Lines of another kind are counted separately.
        let other = counts.allow(AppIdentifier("org.example.user12347.app0"), of: 12_347, .life)
        #expect(other)
    }

    @Test func `of root's apps take none from other users`() {
        var counts = LineCounts()
        let floods = [(0, 100), (12_347, 1)].map { flood(&counts, $0.0, apps: $0.1) }
        #expect(floods == [5000, 50])
    }
}
