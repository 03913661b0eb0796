// How the interpreters whose imports are learned name what they import.

extension Runtime {
    /// Whether an inspection writes a trace (`ImportTrace`), from which the daemon makes the
    /// report. The inspections of Python and Java write the report themselves.
    var inspectionIsTraced: Bool { self != .python && self != .java }

    /// Whether one of the words of `ImportsExclude=` means the module with that name.
    func isExcluded(_ name: String, by words: Set<String>) -> Bool {
        if words.contains(name) { return true }
        switch self {
        case .perl:
            guard name.hasSuffix(".pm") else { return false }
            return words.contains(String(name.dropLast(3)).replacing("/", with: "::"))
        case .ruby:
            guard name.hasSuffix(".rb") || name.hasSuffix(".so") else { return false }
            // As `require` names it, without the folder.
            let stem = name.dropLast(3)
            return stem.indices.contains { index in
                stem[index] == "/" && words.contains(String(stem[stem.index(after: index)...]))
            }
        case .emacs:
            // A feature that another one requires is listed as its file.
            let file = name.split(separator: "/").last ?? ""
            return name.hasPrefix("/") && words.contains(String(file.prefix { $0 != "." }))
        case .python, .node, .java, .r: return false
        }
    }
}
