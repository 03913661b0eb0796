import ArgumentParser
import GreenroomControl

extension Greenroomctl {
    /// What to say where the first word of a command line is no verb; nil where it is one, or an
    /// option. (The parser would complain of an unexpected argument.)
    static func complaint(about words: some Sequence<String>) -> String? {
        var words = words.makeIterator()
        guard let word = words.next(), !word.isEmpty else { return nil }
        let verbs = configuration.subcommands.map { $0._commandName } + ["help"]
        guard !word.hasPrefix("-") else { return misplaced(word, verbs, &words) }
        guard !verbs.contains(word) else { return nil }
        let hint = Spelling.closest(to: word, among: verbs).map { "did you mean \($0)? " } ?? ""
        return "there is no verb \(word); \(hint)\"greenroomctl --help\" shows all"
    }

    /// Every option is a verb's: one that comes before it.
    private static func misplaced(
        _ option: String, _ verbs: [String], _ words: inout some IteratorProtocol<String>
    ) -> String? {
        // A shell's question for completions (---completion) names the verb behind it.
        guard option != "--help", option != "-h", option != "--version",
            !option.hasPrefix("---")
        else { return nil }
        while let word = words.next() {
            guard verbs.contains(word) else { continue }
            return "\(option) comes behind the verb: greenroomctl \(word) … \(option) …"
        }
        return nil
    }
}
