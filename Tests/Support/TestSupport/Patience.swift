import Glibc

/// How long a test waits for a fact. Only a failing test waits for the whole time.
public enum Patience {
    /// In milliseconds. `TEST_PATIENCE=n` makes it n times as long, for builds that are slow.
    public static let milliseconds: Int32 = {
        let factor = getenv("TEST_PATIENCE").flatMap { Int32(String(cString: $0)) } ?? 1
        return 30_000 * max(1, min(factor, 100))
    }()
}
