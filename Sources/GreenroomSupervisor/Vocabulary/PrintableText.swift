extension String {
    /// A text that an app gives about itself, made safe for logs and terminals: without control
    /// characters (C0 with escape, C1 with CSI), and without characters that reverse or break the
    /// line.
    func printable(atMost limit: Int) -> String {
        let kept = unicodeScalars.prefix(limit).filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            case _: true
            }
        }
        return String(String.UnicodeScalarView(kept))
    }

    /// A text that a client sent, shortened for an error message that repeats it.
    var cut: String { utf8.count > 100 ? String(unicodeScalars.prefix(100)) + "…" : self }
}
