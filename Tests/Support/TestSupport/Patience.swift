import Glibc

/// How long a test waits for a fact. Only a failing test waits for the whole time.
public enum Patience {
    /// In milliseconds. `TEST_PATIENCE=n` makes it n times as long, for builds that are slow.
    public static let milliseconds: Int32 = {
        let factor = getenv("TEST_PATIENCE").flatMap { Int32(String(cString: $0)) } ?? 1
        return 30_000 * max(1, min(factor, 100))
    }()

    /// Looks again and again until the fact is there, which no event reports.
    public static func wait(
        _ complaint: String, milliseconds: Int32 = milliseconds, _ fact: () throws -> Bool
    ) throws {
        let end = ContinuousClock.now.advanced(by: .milliseconds(milliseconds))
        while try !fact() {
            guard ContinuousClock.now < end else { throw TestError(complaint) }
            // Whoever brings the fact about may need this processor.
            poll(nil, 0, 1)
        }
    }
}
