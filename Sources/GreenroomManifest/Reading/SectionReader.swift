internal import UnitFile

/// Reads the keys of a file's sections. It remembers the keys that it was asked for, and reports
/// all others as unknown. So the code that reads a file is its only schema.
struct SectionReader {
    private(set) var unit: UnitFile
    private(set) var diagnostics: [Diagnostic]
    /// The values of specifiers; nil if the file has no specifiers and `%` has no special meaning.
    var specifiers: Specifiers?
    /// The keys that the reader was asked for, by section.
    private(set) var known: [(section: String, keys: [String])] = []

    init(_ bytes: [UInt8], file: String) {
        (unit, diagnostics) = UnitFile.parse(bytes, file: file)
    }

    /// Reads a file with its drop-ins, in the order in which they take effect.
    init(_ sources: [ManifestSource]) {
        unit = UnitFile(file: sources.first?.file ?? "")
        diagnostics = []
        for (index, source) in sources.enumerated() {
            let (part, complaints) = UnitFile.parse(source.bytes, file: source.file)
            if index == 0 { unit = part } else { unit.append(dropIn: part) }
            diagnostics += complaints
        }
    }

    var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

    /// The position of an error about something that is missing in the section.
    func position(of section: String) -> Position {
        unit.sections.first { $0.name == section }?.position ?? Position(line: 1, column: 1)
    }

    // MARK: Reading

    /// The value of a key's last assignment; nil if there is none, or if it is empty or wrong.
    ///
    /// - Parameter isLiteral: whether `%` has no special meaning.
    mutating func last<T>(
        _ section: String, _ key: String, isLiteral: Bool = false,
        _ read: (Value) throws(ValueError) -> T
    ) -> T? {
        remember(section, key)
        warnOfRepetition(section, key)
        guard let value = unit.last(section, key) else { return nil }
        let resolved: Value
        do throws(ValueError) { resolved = isLiteral ? value : try resolve(value) } catch {
            report(error, of: key, in: value)
            return nil
        }
        do throws(ValueError) { return try read(resolved) } catch {
            report(error, of: key, in: resolved)
            return nil
        }
    }

    /// The words of the last assignment of a key, for command lines.
    mutating func words(_ section: String, _ key: String) -> (words: [Word], value: Value)? {
        remember(section, key)
        warnOfRepetition(section, key)
        guard let value = unit.last(section, key) else { return nil }
        do throws(ValueError) {
            var words: [Word] = []
            for word in try value.words() { words.append(try resolve(word)) }
            return (words, value)
        } catch {
            report(error, of: key, in: value)
            return nil
        }
    }

    private func resolve(_ value: Value) throws(ValueError) -> Value {
        guard let specifiers else { return value }
        return try value.replacingSpecifiers { letter throws(ValueError) in
            try specifiers.text(for: letter)
        }
    }

    private func resolve(_ word: Word) throws(ValueError) -> Word {
        guard let specifiers else { return word }
        return try word.replacingSpecifiers { letter throws(ValueError) in
            try specifiers.text(for: letter)
        }
    }

    /// All words of all assignments of a key, each converted by `read`.
    mutating func list<T>(
        _ section: String, _ key: String, atMost limit: Int,
        _ read: (Word) throws(ValueError) -> T
    ) -> [T] {
        remember(section, key)
        var result: [T] = []
        for value in unit.all(section, key) {
            do throws(ValueError) {
                for word in try value.words() {
                    let word = try resolve(word)
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

    /// Combines all assignments of a key, including empty ones, in the order of the file.
    mutating func fold<T>(
        _ section: String, _ key: String, _ initial: T,
        _ combine: (inout T, Value) throws(ValueError) -> Void
    ) -> T {
        remember(section, key)
        var result = initial
        for assignment in unit.assignments(section, key) {
            do throws(ValueError) { try combine(&result, assignment.value) } catch {
                report(error, of: key, in: assignment.value)
            }
        }
        return result
    }

    /// Reports an error for a key that is not allowed in its section.
    mutating func refuse(
        _ assignment: UnitFile.Assignment, in section: String, _ message: String
    ) {
        remember(section, assignment.key)
        error(assignment.position, message)
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
            Diagnostic(
                severity: .error, file: unit.file(at: position), position: position,
                message: message))
    }

    mutating func warning(_ position: Position, _ message: String) {
        guard diagnostics.count < UnitFile.Limit.diagnostics else { return }
        diagnostics.append(
            Diagnostic(
                severity: .warning, file: unit.file(at: position), position: position,
                message: message))
    }

    mutating func report(_ error: ValueError, of key: String, in value: Value) {
        self.error(value.position(at: error.offset), "\(key)=: \(error.message)")
    }

    /// Warns if a key that takes one value is set twice, unless there is an empty assignment in
    /// between.
    private mutating func warnOfRepetition(_ section: String, _ key: String) {
        let assignments = unit.assignments(section, key)
        for (earlier, later) in zip(assignments, assignments.dropFirst())
        where !earlier.value.text.isEmpty && !later.value.text.isEmpty
            && earlier.position.source == later.position.source
        {
            warning(
                later.position,
                "\(key)= is set again; the value in line \(earlier.position.line) is ignored")
        }
    }

    /// Reports unknown sections and keys. Names that begin with `X-` are left to other programs
    /// (systemd.syntax(7)).
    mutating func reportUnknown() {
        for section in unit.sections where !section.name.hasPrefix("X-") {
            guard let keys = known.first(where: { $0.section == section.name })?.keys else {
                if let lost = section.assignments.first(where: { home(of: $0.key) != nil }) {
                    error(
                        section.position,
                        "unknown section [\(section.name)]; \(lost.key)= belongs in "
                            + "[\(home(of: lost.key)!)]")
                    continue
                }
                let hint = suggestion(for: section.name, among: known.map(\.section))
                let all = known.map { "[\($0.section)]" }.joined(separator: ", ")
                warning(
                    section.position,
                    hint.isEmpty
                        ? "unknown section [\(section.name)], ignoring; there are \(all)"
                        : "unknown section [\(section.name)], ignoring\(hint)")
                continue
            }
            for assignment in section.assignments
            where !keys.contains(assignment.key) && !assignment.key.hasPrefix("X-") {
                // The limit also saves time, because each suggestion takes some on the loop.
                guard diagnostics.count < UnitFile.Limit.diagnostics else { return }
                if let fault = confinementFault(of: assignment, in: section.name, keys) {
                    error(assignment.position, fault)
                    continue
                }
                warning(
                    assignment.position,
                    "unknown key \(assignment.key)= in [\(section.name)], ignoring"
                        + hint(for: assignment.key, among: keys))
            }
        }
    }

    /// Sections in which no key may be ignored, because the app would otherwise run less confined
    /// than intended.
    private static let confining = [Sandbox.section, Resources.section]

    /// The confining section to which a key belongs, if any.
    private func home(of key: String) -> String? {
        known.first { Self.confining.contains($0.section) && $0.keys.contains(key) }?.section
    }

    private func confinementFault(
        of assignment: UnitFile.Assignment, in section: String, _ keys: [String]
    ) -> String? {
        if let home = home(of: assignment.key) {
            return "\(assignment.key)= belongs in [\(home)], not in [\(section)]"
        }
        guard Self.confining.contains(section) else { return nil }
        return "there is no key \(assignment.key)= in [\(section)]"
            + suggestion(for: assignment.key, among: keys)
    }

    private func hint(for key: String, among keys: [String]) -> String {
        if let home = known.first(where: { $0.keys.contains(key) }) {
            return "; it belongs in [\(home.section)]"
        }
        return suggestion(for: key, among: keys)
    }

    /// The diagnostics in the order of the files.
    func sortedDiagnostics() -> [Diagnostic] {
        // Files are in the order in which they take effect. For syntax errors, only the file's name
        // is known.
        func order(_ diagnostic: Diagnostic) -> (Int, Position) {
            let source = unit.files.firstIndex(of: diagnostic.file) ?? diagnostic.position.source
            var position = diagnostic.position
            position.source = source
            return (source, position)
        }
        return diagnostics.sorted { order($0) < order($1) }
    }
}
