import ArgumentParser
import UnitFile

extension Greenroomctl {
    /// A message if the first word of a command line is not a verb; nil if it is a verb or an
    /// option. (The parser itself would complain about an unexpected argument.)
    static func complaint(about words: some Sequence<String>) -> String? {
        var words = words.makeIterator()
        guard let word = words.next(), !word.isEmpty else { return nil }
        guard !word.hasPrefix("-") else { return misplaced(word, &words) }
        if word == "help" {
            // The parser would show the help of all verbs.
            guard let topic = words.next(), !verbs.contains(topic), !topic.hasPrefix("-") else {
                return nil
            }
            return noVerb(topic) + "; \"greenroomctl status \(topic)\" shows an app"
        }
        return verbs.contains(word) ? nil : noVerb(word)
    }

    private static var verbs: [String] {
        configuration.subcommands.flatMap { [$0._commandName] + $0.configuration.aliases }
            + ["help"]
    }

    private static func noVerb(_ word: String) -> String {
        let hint = Spelling.closest(to: word, among: verbs).map { "did you mean \($0)? " } ?? ""
        return "there is no verb \(word); \(hint)\"greenroomctl --help\" shows all"
    }

    /// The words with the options that come before the verb moved to after it, as systemctl(1)
    /// takes them in either place. An option that not every verb has stays where it is.
    static func arranged(_ words: [String]) -> [String] {
        var options: [String] = []
        var rest = words[...]
        while let word = rest.first, word.hasPrefix("-") {
            let name = word.prefix { $0 != "=" }
            switch name {
            case "--user", "--system", "--json", "--full", "-l": options.append(word)
            case "--socket", "--color":
                options.append(word)
                if name == word {
                    rest.removeFirst()
                    if let value = rest.first { options.append(value) }
                }
            case _: return words
            }
            rest = rest.dropFirst()
        }
        guard let verb = rest.popFirst() else { return words }
        return [verb] + options + rest
    }

    /// A message about an option before the verb that ``arranged(_:)`` does not move.
    private static func misplaced(
        _ option: String, _ words: inout some IteratorProtocol<String>
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
