import ArgumentParser
import GreenroomControl

extension Greenroomctl {
    /// What to say where the first word of a command line is no verb; nil where it is one, or an
    /// option. (The parser would complain of an unexpected argument.)
    static func complaint(about words: some Sequence<String>) -> String? {
        var words = words.makeIterator()
        guard let word = words.next(), !word.isEmpty, !word.hasPrefix("-") else { return nil }
        let verbs = configuration.subcommands.map { $0._commandName } + ["help"]
        guard !verbs.contains(word) else { return nil }
        let hint = Spelling.closest(to: word, among: verbs).map { "did you mean \($0)? " } ?? ""
        return "there is no verb \(word); \(hint)\"greenroomctl --help\" shows all"
    }
}
