import ArgumentParser
import UnitFile

extension Greenroomctl {
    /// A message if the first word of a command line is not a verb; nil if it is a verb or an
    /// option. (The parser itself would complain about an unexpected argument.)
    static func complaint(about words: some Sequence<String>) -> String? {
        var words = words.makeIterator()
        guard let word = words.next(), !word.isEmpty else { return nil }
        let verbs = configuration.subcommands.map { $0._commandName } + ["help"]
        guard !word.hasPrefix("-") else { return misplaced(word, verbs, &words) }
        guard !verbs.contains(word) else { return nil }
        let hint = Spelling.closest(to: word, among: verbs).map { "did you mean \($0)? " } ?? ""
        return "there is no verb \(word); \(hint)\"greenroomctl --help\" shows all"
    }

    /// A message about an option before the verb. Every option belongs to a verb and comes after
    /// it.
    private static func misplaced(
        _ option: String, _ verbs: [String], _ words: inout some IteratorProtocol<String>
    ) -> String? {
        // A shell asks for completions with ---completion, which is followed by the verb.
        guard option != "--help", option != "-h", option != "--version",
            !option.hasPrefix("---")
        else { return nil }
        while let word = words.next() {
            guard verbs.contains(word) else { continue }
            return "\(option) comes after the verb: greenroomctl \(word) … \(option) …"
        }
        return nil
    }
}
