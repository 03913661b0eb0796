/// One message in both its forms. Pure, so that both can be tested without a journal.
struct JournalRecord {
    var identifier: String
    var level: LogLevel
    var message: String
    var fields: [(key: String, value: String)]
    var identity: MessageIdentifier?

    /// `NAME=value` for each field, as sd_journal_sendv(3) takes them: any byte may be in a value.
    func journalFields(prefix: String) -> [[UInt8]] {
        var all = [
            "PRIORITY=\(level.rawValue)", "SYSLOG_IDENTIFIER=\(identifier)", "MESSAGE=\(message)",
        ]
        if let identity { all.append("MESSAGE_ID=\(identity.hexadecimal)") }
        for (key, value) in fields { all.append(prefix + Self.fieldName(key) + "=" + value) }
        return all.map { Array($0.utf8) }
    }

    /// `greenroomd: warning: message (app=org.x instance=4)`, on one line whatever the message holds.
    var line: String {
        var text = "\(identifier): \(level.name): \(Self.printable(message))"
        if !fields.isEmpty {
            let list = fields.map { "\($0.key)=\(Self.quotedIfNeeded(Self.printable($0.value)))" }
            text += " (" + list.joined(separator: " ") + ")"
        }
        return text + "\n"
    }

    /// The journal drops fields whose names hold anything but A-Z, 0-9 and _.
    /// `exitStatus` becomes `EXIT_STATUS`.
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

    /// A message may hold a client's words: nothing in it may begin a line or move a terminal.
    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if !isControl(scalar) {
                result.unicodeScalars.append(scalar)
            } else if scalar == "\n" {
                result += "\\n"
            } else {
                let digits = String(scalar.value, radix: 16)
                result += "\\x" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
    }

    private static func quotedIfNeeded(_ value: String) -> String {
        value.isEmpty || value.contains(where: { $0 == " " || $0 == ")" || $0 == "\"" })
            ? "\"\(value)\"" : value
    }

    /// At most `limit` bytes of a line, its end marked and its newline kept.
    static func cut(_ line: String, to limit: Int) -> [UInt8] {
        let bytes = Array(line.utf8)
        guard bytes.count > limit else { return bytes }
        let mark = Array("…\n".utf8)
        var end = limit - mark.count
        // Not inside a character: UTF-8's continuation bytes are 10xxxxxx.
        while end > 0 && bytes[end] & 0xc0 == 0x80 { end -= 1 }
        return bytes[..<end] + mark
    }
}
