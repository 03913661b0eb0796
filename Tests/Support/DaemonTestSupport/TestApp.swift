/// A manifest for a test's own daemon.
public struct TestApp: Sendable {
    public var identifier: String
    /// Lines of `[App]` and of `[Prewarm]`, without those of `Exec` and `Count`.
    public var lines: [String]
    public var exec: String
    public var prewarmCount: Int
    /// `Depth=` of an app that is prewarmed.
    public var depth: String
    public var prewarmLines: [String]

    /// - Parameter prewarm: how many paused instances are wanted; 0 asks for no prewarming.
    public init(
        _ identifier: String, exec: String, prewarm: Int = 0, _ lines: String...,
        depth: String = "main", prewarmLines: [String] = []
    ) {
        self.identifier = identifier
        self.exec = exec
        self.lines = lines
        prewarmCount = prewarm
        self.depth = depth
        self.prewarmLines = prewarmLines
    }

    public var manifest: String {
        let depth = prewarmCount > 0 ? depth : "none"
        return """
            [App]
            Exec=\(exec)
            \(lines.joined(separator: "\n"))

            [Prewarm]
            Depth=\(depth)
            Count=\(prewarmCount)
            \(prewarmLines.joined(separator: "\n"))

            """
    }
}
