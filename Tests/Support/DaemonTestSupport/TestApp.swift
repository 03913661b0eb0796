/// A manifest to be written for a test's own daemon.
public struct TestApp: Sendable {
    public var identifier: String
    /// Lines of `[App]` and of `[Prewarm]`, without those of `Exec` and `Count`.
    public var lines: [String]
    public var exec: String
    public var prewarmCount: Int
    public var prewarmLines: [String]

    /// - Parameter prewarm: how many paused instances are wanted; 0 asks for no prewarming.
    public init(
        _ identifier: String, exec: String, prewarm: Int = 0, _ lines: String...,
        prewarmLines: [String] = []
    ) {
        self.identifier = identifier
        self.exec = exec
        self.lines = lines
        prewarmCount = prewarm
        self.prewarmLines = prewarmLines
    }

    public var manifest: String {
        let depth = prewarmCount > 0 ? "Depth=main" : "Depth=none"
        return """
            [App]
            Exec=\(exec)
            \(lines.joined(separator: "\n"))

            [Prewarm]
            \(depth)
            Count=\(prewarmCount)
            \(prewarmLines.joined(separator: "\n"))

            """
    }
}
