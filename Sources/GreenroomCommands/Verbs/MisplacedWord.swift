extension Greenroomctl {
    /// A hint after the parser has complained about an argument or an option that is meant for the
    /// app and lacks the "--" before it; nil if the error is another one.
    static func hint(for message: String, _ words: some Collection<String>) -> String? {
        let words = Array(words)
        guard let verb = words.first, ["run", "launch"].contains(verb),
            message.contains("Unknown option") || message.lowercased().contains("unexpected arg"),
            let quoted = message.split(separator: "'", omittingEmptySubsequences: false)
                .dropFirst().first,
            let place = words.firstIndex(where: { $0 == quoted || $0.hasPrefix(quoted + "=") }),
            place >= 2, !words[..<place].contains("--")
        else { return nil }
        return hint(words, before: place)
    }

    /// A message if `--version` comes after an app's name: the parser would show our own version.
    static func versionComplaint(about words: some Collection<String>) -> String? {
        let words = Array(words)
        guard let verb = words.first, ["run", "launch"].contains(verb),
            let place = words.firstIndex(of: "--version"), place >= 2,
            !words[..<place].contains("--")
        else { return nil }
        return "\(verb) has no option --version. " + hint(words, before: place)
    }

    private static func hint(_ words: [String], before place: Int) -> String {
        let line = words[..<place] + ["--"] + words[place...]
        return
            "Arguments for the app come after \"--\": greenroomctl \(line.joined(separator: " "))"
    }
}
