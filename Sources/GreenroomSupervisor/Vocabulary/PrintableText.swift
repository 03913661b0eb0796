extension String {
    /// What an app says of itself, for logs and terminals: without control characters of either half (C0
    /// with the escape, C1 with CSI) and without what turns or breaks the line.
    func printable(atMost limit: Int) -> String {
        let kept = unicodeScalars.prefix(limit).filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            case _: true
            }
        }
        return String(String.UnicodeScalarView(kept))
    }

    /// Of what a client sent, as much as an error repeats.
    var cut: String { utf8.count > 100 ? String(unicodeScalars.prefix(100)) + "…" : self }
}
