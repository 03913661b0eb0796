/// How the app under test broke a rule, or why a check is skipped.
struct Fault: Error {
    let words: String
    let isSkip: Bool
    init(_ words: String) {
        self.words = words
        isSkip = false
    }
    private init(skipping words: String) {
        self.words = words
        isSkip = true
    }

    /// Skips a check: an app need not save state or work in the background, but the rules apply if
    /// it does.
    static func skip(_ why: String) -> Fault { Fault(skipping: why) }
}

/// A rule and the test of it.
struct Check: Sendable {
    let name: String
    let body: @Sendable (Bench) throws(Fault) -> Void

    init(
        _ name: String,
        _ body: @escaping @Sendable (Bench) throws(Fault) -> Void
    ) {
        self.name = name
        self.body = body
    }

    /// A check's number never changes: new checks come at the end.
    static let all: [Check] =
        pausing + launching + living + refusing + restoring + background + credentials
        + returning + locking
}
