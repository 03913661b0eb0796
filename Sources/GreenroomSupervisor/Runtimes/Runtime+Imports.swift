// How the interpreters whose imports are learned name what they import.

extension Runtime {
    /// Whether an inspection writes a trace (`ImportTrace`), of which the daemon makes the report;
    /// that of Python makes it itself.
    var inspectionIsTraced: Bool { self != .python }

    /// Whether a word of `ImportsExclude=` means the module with that name.
    func isExcluded(_ name: String, by word: String) -> Bool {
        if name == word { return true }
        return switch self {
        case .perl: name == word.replacing("::", with: "/") + ".pm"
        case .ruby: ["/\(word).rb", "/\(word).so"].contains(where: name.hasSuffix)
        case .python, .node, .java, .r, .emacs: false
        }
    }
}
