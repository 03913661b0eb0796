extension DesktopEntry {
    /// The largest entry in bytes. Real entries are far smaller, although some have a hundred
    /// translations of each key.
    public static let byteLimit = 1 << 20
    static let actionLimit = 64
    static let listLimit = 1024

    /// Reads an entry with `Type=Application`; returns nil for one of another type.
    public static func parse(
        _ bytes: [UInt8], identifier: String, file: String, locale: Locale
    ) throws(Mistake) -> DesktopEntry? {
        guard bytes.count <= byteLimit else {
            throw Mistake(line: 1, column: 1, message: "the file has more than \(byteLimit) bytes")
        }
        let groups = try Groups(bytes, locale: locale)
        guard let main = groups["Desktop Entry"] else {
            throw Mistake(line: 1, column: 1, message: "there is no [Desktop Entry] group")
        }
        let isHidden = try main.boolean("Hidden")
        let type = try main.string("Type")
        // An entry that hides a vendor's entry may contain only Hidden=.
        guard type == "Application" || (isHidden && type == nil) else {
            if type == nil { throw main.mistake("there is no Type=") }
            return nil
        }
        guard let name = try main.string("Name") ?? (isHidden ? identifier : nil) else {
            throw main.mistake("there is no Name=")
        }
        var entry = DesktopEntry(identifier: identifier, file: file, name: name)
        entry.isHidden = isHidden
        entry.icon = try main.string("Icon")
        entry.command = try main.command("Exec")
        entry.tryExec = try main.string("TryExec")
        entry.path = try main.string("Path").flatMap { $0.isEmpty ? nil : $0 }
        entry.isTerminal = try main.boolean("Terminal")
        entry.isNotDisplayed = try main.boolean("NoDisplay")
        entry.onlyShowIn = try main.list("OnlyShowIn")
        entry.notShowIn = try main.list("NotShowIn")
        entry.startupWMClass = try main.string("StartupWMClass")
        entry.isDBusActivatable = try main.boolean("DBusActivatable")
        entry.original = try main.string(Redirection.originalKey)
        if entry.command == nil, !entry.isDBusActivatable, !isHidden {
            throw main.mistake("there is no Exec=")
        }
        for action in try main.list("Actions").prefix(actionLimit) {
            // An action without its group is ignored, as the specification says.
            guard let group = groups["Desktop Action \(action)"],
                let name = try group.string("Name")
            else { continue }
            entry.actions.append(
                Action(
                    identifier: action, name: name, icon: try group.string("Icon"),
                    command: try group.command("Exec")))
        }
        return entry
    }
}

extension DesktopEntry {
    /// A line, a key or a value without the blanks around it. Lines may end with CR and LF, which are
    /// one `Character`.
    static func trimmed(_ text: Substring) -> Substring {
        var text = text
        func isBlank(_ scalar: Unicode.Scalar?) -> Bool {
            scalar == " " || scalar == "\t" || scalar == "\r"
        }
        while isBlank(text.unicodeScalars.first) { text.unicodeScalars.removeFirst() }
        while isBlank(text.unicodeScalars.last) { text.unicodeScalars.removeLast() }
        return text
    }
}

/// The groups of a file. Each key has the best value for the locale.
private struct Groups {
    private var groups: [String: Group] = [:]

    subscript(name: String) -> Group? { groups[name] }

    init(_ bytes: [UInt8], locale: Locale) throws(DesktopEntry.Mistake) {
        var current: String?
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard let first = line.first(where: { $0 != 32 && $0 != 9 && $0 != 13 }),
                first != UInt8(ascii: "#")
            else { continue }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw .init(line: number, column: 1, message: "the line is not UTF-8")
            }
            let trimmed = DesktopEntry.trimmed(text[...])
            if trimmed.hasPrefix("[") {
                guard trimmed.hasSuffix("]") else {
                    throw .init(line: number, column: 1, message: "expected ] at the end")
                }
                let name = String(trimmed.dropFirst().dropLast())
                guard groups[name] == nil else {
                    throw .init(line: number, column: 1, message: "[\(name)] occurs twice")
                }
                groups[name] = Group(line: number)
                current = name
            } else {
                try Self.add(trimmed, number, locale, to: &groups, current)
            }
        }
    }

    private static func add(
        _ line: Substring, _ number: Int, _ locale: Locale, to groups: inout [String: Group],
        _ current: String?
    ) throws(DesktopEntry.Mistake) {
        guard let equals = line.firstIndex(of: "=") else {
            throw .init(line: number, column: 1, message: "expected [Group] or Key=value")
        }
        guard let current else {
            throw .init(line: number, column: 1, message: "a key comes before the first [Group]")
        }
        var key = DesktopEntry.trimmed(line[..<equals])
        var rank = Int.max
        if key.hasSuffix("]"), let bracket = key.firstIndex(of: "[") {
            let name = key[key.index(after: bracket)...].dropLast()
            guard let found = locale.candidates.firstIndex(of: String(name)) else { return }
            rank = found
            key = key[..<bracket]
        }
        let raw = line[line.index(after: equals)...]
        let value = DesktopEntry.trimmed(raw)
        let column =
            1 + line.unicodeScalars.distance(from: line.startIndex, to: value.startIndex)
        groups[current]?.add(String(key), String(value), rank, number, column)
    }
}

private struct Group {
    private struct Value {
        var text: String
        /// The value's rank among the locale's candidates; lower is better.
        var rank: Int
        var line: Int
        var column: Int
    }

    let line: Int
    private var values: [String: Value] = [:]

    init(line: Int) { self.line = line }

    mutating func add(_ key: String, _ text: String, _ rank: Int, _ line: Int, _ column: Int) {
        if let other = values[key], other.rank <= rank { return }
        values[key] = Value(text: text, rank: rank, line: line, column: column)
    }

    func mistake(_ message: String) -> DesktopEntry.Mistake {
        .init(line: line, column: 1, message: message)
    }

    private func mistake(_ key: String, _ message: String) -> DesktopEntry.Mistake {
        let value = values[key]
        return .init(
            line: value?.line ?? line, column: value?.column ?? 1, message: "\(key)=: \(message)")
    }

    /// The value of a key, with `\s`, `\n`, `\t`, `\r` and `\\` resolved.
    func string(_ key: String) throws(DesktopEntry.Mistake) -> String? {
        guard let value = values[key] else { return nil }
        return try unescape(key, value.text, list: false)[0]
    }

    func list(_ key: String) throws(DesktopEntry.Mistake) -> [String] {
        guard let value = values[key], !value.text.isEmpty else { return [] }
        let words = try unescape(key, value.text, list: true)
        return Array(words.filter { !$0.isEmpty }.prefix(DesktopEntry.listLimit))
    }

    func boolean(_ key: String) throws(DesktopEntry.Mistake) -> Bool {
        switch values[key]?.text {
        case "true", "1": true
        case "false", "0", nil: false
        case _: throw mistake(key, "neither true nor false")
        }
    }

    func command(_ key: String) throws(DesktopEntry.Mistake) -> DesktopEntry.Command? {
        guard let text = try string(key) else { return nil }
        do throws(DesktopEntry.Command.Fault) {
            return try DesktopEntry.Command(parsing: text)
        } catch {
            throw mistake(key, error.message)
        }
    }

    private func unescape(
        _ key: String, _ text: String, list: Bool
    ) throws(DesktopEntry.Mistake) -> [String] {
        var parts = [""]
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            if list, scalar == ";" {
                parts.append("")
                continue
            }
            guard scalar == "\\" else {
                parts[parts.count - 1].unicodeScalars.append(scalar)
                continue
            }
            switch scalars.next() {
            case "s": parts[parts.count - 1] += " "
            case "n": parts[parts.count - 1] += "\n"
            case "t": parts[parts.count - 1] += "\t"
            case "r": parts[parts.count - 1] += "\r"
            case "\\": parts[parts.count - 1] += "\\"
            case ";" where list: parts[parts.count - 1] += ";"
            // GLib keeps a backslash that does not begin an escape, and entries rely on that.
            case let other?:
                parts[parts.count - 1] += "\\"
                parts[parts.count - 1].unicodeScalars.append(other)
            case nil: throw mistake(key, "nothing follows the last \\")
            }
        }
        return parts
    }
}
