// How the interpreters whose imports are learned name what they import.

extension Runtime {
    /// Whether an inspection writes a trace (`ImportTrace`), from which the daemon makes the
    /// report. The inspections of Python and Java write the report themselves.
    var inspectionIsTraced: Bool { self != .python && self != .java }

    /// Whether a list is what the program loads first, in its order. A list for Node has groups
    /// instead, and one for Python may have any modules.
    var importsInOrder: Bool { inspectionIsTraced && self != .node }

    /// Whether one of the words of `ImportsExclude=` means the module with that name.
    func isExcluded(_ name: String, by words: Set<String>) -> Bool {
        if words.contains(name) { return true }
        switch self {
        case .perl:
            guard name.hasSuffix(".pm") else { return false }
            return words.contains(String(name.dropLast(3)).replacing("/", with: "::"))
        case .ruby:
            guard name.hasSuffix(".rb") || name.hasSuffix(".so") else { return false }
            // Excluded by the name that `require` uses, without the folder.
            let stem = name.dropLast(3)
            return stem.indices.contains { index in
                stem[index] == "/" && words.contains(String(stem[stem.index(after: index)...]))
            }
        case .emacs:
            // A feature that another one requires is listed as its file. A library that the option
            // -l loads is listed as "-l:" and its name.
            if name.hasPrefix("-l:") { return words.contains(String(name.dropFirst(3))) }
            let file = name.split(separator: "/").last ?? ""
            return name.hasPrefix("/") && words.contains(String(file.prefix { $0 != "." }))
        case .node:
            guard !words.isEmpty else { return false }
            return name.split(separator: "/").contains { folder in
                guard folder == "node_modules" || folder == "nodejs",
                    folder.startIndex > name.startIndex
                else { return false }
                // Excluded by the name that `require` uses: that of a package, or of a file in one,
                // perhaps without its ending.
                let file = name[folder.endIndex...].dropFirst()
                return words.contains { word in
                    guard file.hasPrefix(word) else { return false }
                    let rest = file.dropFirst(word.count)
                    return rest.first == "/" || ["", ".js", ".cjs", ".json"].contains(rest)
                }
            }
        case .python, .java, .r: return false
        }
    }
}
