extension Greenroomctl {
    /// A hint about an argument or an option of the app that is in the place of greenroomctl's own,
    /// after the parser has complained about it; nil if the error is another one.
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

    /// A message if an app is named and asked for its version: the parser would show our own.
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
