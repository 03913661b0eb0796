extension Greenroomctl {
    /// What to say of a word or an option that is the app's and stands where ours do, after the
    /// parser has complained of it; nil where the mistake is another one.
    static func hint(for message: String, _ words: some Collection<String>) -> String? {
        let words = Array(words)
        guard let verb = words.first, ["run", "launch"].contains(verb),
            message.contains("Unknown option") || message.lowercased().contains("unexpected arg"),
            let quoted = message.split(separator: "'", omittingEmptySubsequences: false)
                .dropFirst().first,
            let place = words.firstIndex(where: { $0 == quoted || $0.hasPrefix(quoted + "=") }),
            place >= 2, !words[..<place].contains("--")
        else { return nil }
        let line = words[..<place] + ["--"] + words[place...]
        return
            "What is for the app comes behind \"--\": greenroomctl \(line.joined(separator: " "))"
    }
}
