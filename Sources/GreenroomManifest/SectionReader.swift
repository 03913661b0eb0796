internal import UnitFile

/// Reads the keys of a file's sections, remembers which there are, and reports what it did not ask
/// for: a schema that is written once, by reading.
struct SectionReader {
    let unit: UnitFile
    private(set) var diagnostics: [Diagnostic]
    /// The keys asked for, by section.
    private(set) var known: [(section: String, keys: [String])] = []

    init(_ bytes: [UInt8], file: String) {
        (unit, diagnostics) = UnitFile.parse(bytes, file: file)
    }

    var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

    /// Where to complain that something is missing.
    func position(of section: String) -> Position {
        unit.sections.first { $0.name == section }?.position ?? Position(line: 1, column: 1)
    }

    // MARK: Reading

    /// The last assignment of a key, or `nil` if there is none, it is empty, or it is wrong.
    mutating func last<T>(
        _ section: String, _ key: String, _ read: (Value) throws(ValueError) -> T
    ) -> T? {
        remember(section, key)
        warnOfRepetition(section, key)
        guard let value = unit.last(section, key) else { return nil }
        do throws(ValueError) { return try read(value) } catch {
            report(error, of: key, in: value)
            return nil
        }
    }

    /// All words of all assignments, each turned into something.
    mutating func list<T>(
        _ section: String, _ key: String, atMost limit: Int,
        _ read: (Word) throws(ValueError) -> T
    ) -> [T] {
        remember(section, key)
        var result: [T] = []
        for value in unit.all(section, key) {
            do throws(ValueError) {
                for word in try value.words() {
                    guard result.count < limit else {
                        throw ValueError(offset: word.offset, message: "more than \(limit) words")
                    }
                    do throws(ValueError) { result.append(try read(word)) } catch {
                        throw ValueError(offset: word.offset, message: error.message)
                    }
                }
            } catch {
                report(error, of: key, in: value)
            }
        }
        return result
    }

    private mutating func remember(_ section: String, _ key: String) {
        if let index = known.firstIndex(where: { $0.section == section }) {
            known[index].keys.append(key)
        } else {
            known.append((section, [key]))
        }
    }

    // MARK: Reporting

    mutating func error(_ position: Position, _ message: String) {
        diagnostics.append(
            Diagnostic(severity: .error, file: unit.file, position: position, message: message))
    }

    mutating func warning(_ position: Position, _ message: String) {
        guard diagnostics.count < UnitFile.Limit.diagnostics else { return }
        diagnostics.append(
            Diagnostic(severity: .warning, file: unit.file, position: position, message: message))
    }

    private mutating func report(_ error: ValueError, of key: String, in value: Value) {
        self.error(value.position(at: error.offset), "\(key)=: \(error.message)")
    }

    /// For a key that holds one value; an empty assignment in between is meant.
    private mutating func warnOfRepetition(_ section: String, _ key: String) {
        let assignments = unit.assignments(section, key)
        for (earlier, later) in zip(assignments, assignments.dropFirst())
        where !earlier.value.text.isEmpty && !later.value.text.isEmpty {
            warning(
                later.position,
                "\(key)= is set again; the value in line \(earlier.position.line) is ignored")
        }
    }

    /// Reports sections and keys that nobody asked for. `X-` begins what is meant for others
    /// (systemd.syntax(7)).
    mutating func reportUnknown() {
        for section in unit.sections where !section.name.hasPrefix("X-") {
            guard let keys = known.first(where: { $0.section == section.name })?.keys else {
                let hint = suggestion(for: section.name, among: known.map(\.section))
                let all = known.map { "[\($0.section)]" }.joined(separator: " and ")
                warning(
                    section.position,
                    hint.isEmpty
                        ? "unknown section [\(section.name)], ignoring; there are \(all)"
                        : "unknown section [\(section.name)], ignoring\(hint)")
                continue
            }
            for assignment in section.assignments
            where !keys.contains(assignment.key) && !assignment.key.hasPrefix("X-") {
                // Not only to be brief: each suggestion costs time on the loop.
                guard diagnostics.count < UnitFile.Limit.diagnostics else { return }
                warning(
                    assignment.position,
                    "unknown key \(assignment.key)= in [\(section.name)], ignoring"
                        + hint(for: assignment.key, among: keys))
            }
        }
    }

    private func hint(for key: String, among keys: [String]) -> String {
        if let home = known.first(where: { $0.keys.contains(key) }) {
            return "; it belongs into [\(home.section)]"
        }
        return suggestion(for: key, among: keys)
    }

    /// In the order of the file.
    func sortedDiagnostics() -> [Diagnostic] {
        diagnostics.sorted { $0.position < $1.position }
    }
}
