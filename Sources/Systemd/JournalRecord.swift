/// A message in both forms, field list and line. A pure value, so that both can be tested without a
/// journal.
struct JournalRecord {
    var identifier: String
    var level: LogLevel
    var message: String
    var fields: [(key: String, value: String)]
    var identity: MessageIdentifier?

    /// `NAME=value` for each field, as sd_journal_sendv(3) takes them. A value may contain any
    /// byte, except the value of MESSAGE, because journalctl(1) shows that and passes some bytes to
    /// the terminal.
    func journalFields(prefix: String) -> [[UInt8]] {
        var all = [
            "PRIORITY=\(level.rawValue)", "SYSLOG_IDENTIFIER=\(identifier)",
            "MESSAGE=\(Self.printable(message, keepsLines: true))",
        ]
        if let identity { all.append("MESSAGE_ID=\(identity.hexadecimal)") }
        for (key, value) in fields { all.append(prefix + Self.fieldName(key) + "=" + value) }
        return all.map { Array($0.utf8) }
    }

    /// `greenroomd: warning: message (app=org.x instance=4)`, always on one line.
    var line: String {
        var text = "\(identifier): \(level.name): \(Self.printable(message))"
        if !fields.isEmpty {
            let list = fields.map { "\($0.key)=\(Self.quotedIfNeeded(Self.printable($0.value)))" }
            text += " (" + list.joined(separator: " ") + ")"
        }
        return text + "\n"
    }

    /// The journal's name for a field: `exitStatus` becomes `EXIT_STATUS`. The journal drops fields
    /// whose names contain anything but A-Z, 0-9 and _.
    static func fieldName(_ key: String) -> String {
        var name = ""
        var wasLower = false
        for scalar in key.unicodeScalars {
            switch scalar {
            case "a"..."z", "0"..."9":
                name += scalar.properties.uppercaseMapping
                wasLower = true
            case "A"..."Z":
                if wasLower { name += "_" }
                name.unicodeScalars.append(scalar)
                wasLower = false
            default:
                name += "_"
                wasLower = false
            }
        }
        return name
    }

    /// Escapes control characters. A message may contain a client's text, which must not begin a
    /// line, control a terminal, or change the writing direction of what follows. The journal
    /// itself keeps lines separate (`keepsLines`).
    private static func printable(_ text: String, keepsLines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if !isControl(scalar) {
                result.unicodeScalars.append(scalar)
            } else if scalar == "\n", keepsLines {
                result += "\n"
            } else if scalar == "\n" {
                result += "\\n"
            } else {
                let digits = String(scalar.value, radix: 16)
                let (sign, count) = scalar.value < 0x100 ? ("\\x", 2) : ("\\u", 4)
                result += sign + String(repeating: "0", count: count - digits.count) + digits
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        case _: false
        }
    }

    private static func quotedIfNeeded(_ value: String) -> String {
        value.isEmpty || value.contains(where: { $0 == " " || $0 == ")" || $0 == "\"" })
            ? "\"\(value)\"" : value
    }

    /// Shortens a line to at most `limit` bytes, marks where it was cut, and keeps its newline.
    static func cut(_ line: String, to limit: Int) -> [UInt8] {
        let bytes = Array(line.utf8)
        guard bytes.count > limit else { return bytes }
        let mark = Array("…\n".utf8)
        var end = limit - mark.count
        // A character is not cut in two: UTF-8's continuation bytes are 10xxxxxx.
        while end > 0 && bytes[end] & 0xc0 == 0x80 { end -= 1 }
        return bytes[..<end] + mark
    }
}
