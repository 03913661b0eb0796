extension UnitFile {
    /// Limits on the cost of a file. Each is far beyond any file written by hand.
    public enum Limit {
        /// systemd's own limit for a configuration file is 32 MiB, but these files are read on the
        /// loop.
        public static let fileBytes = 1 << 20
        /// A line with its continuations.
        static let lineBytes = 64 << 10
        public static let sections = 256
        public static let assignments = 4096
        /// Nobody reads more, and diagnostics must not flood the journal.
        public static let diagnostics = 100
    }

    /// Reads a file. The result contains everything that can be understood, up to the point where
    /// there are `Limit.diagnostics` errors.
    ///
    /// - Parameter file: the name for diagnostics.
    public static func parse(
        _ bytes: [UInt8], file: String
    ) -> (unit: UnitFile, diagnostics: [Diagnostic]) {
        var parser = Parser(file: file)
        parser.parse(bytes)
        return (parser.unit, parser.diagnostics)
    }

    public static func parse(
        _ text: String, file: String
    ) -> (unit: UnitFile, diagnostics: [Diagnostic]) {
        parse(Array(text.utf8), file: file)
    }
}

private let (tab, newline, carriageReturn, blank) = (UInt8(9), UInt8(10), UInt8(13), UInt8(32))
private let (backslash, equals) = (UInt8(ascii: "\\"), UInt8(ascii: "="))

private func isBlank(_ byte: UInt8) -> Bool {
    byte == blank || byte == tab || byte == carriageReturn
}

private struct Parser {
    var unit: UnitFile
    var diagnostics: [Diagnostic] = []
    private var assignmentCount = 0

    init(file: String) { unit = UnitFile(file: file) }

    /// A line with its continuations. Blanks at the start of each part are removed.
    private struct Line {
        var bytes: [UInt8] = []
        var pieces: [Value.Piece] = []

        func value(from start: Int) -> Value {
            var start = start
            var end = bytes.count
            while end > start, isBlank(bytes[end - 1]) { end -= 1 }
            while start < end, isBlank(bytes[start]) { start += 1 }
            var parts = [Value.Piece(offset: 0, position: position(at: start))]
            for piece in pieces where piece.offset > start && piece.offset < end {
                parts.append(.init(offset: piece.offset - start, position: piece.position))
            }
            return Value(text: String(decoding: bytes[start..<end], as: UTF8.self), pieces: parts)
        }

        func position(at offset: Int) -> Position {
            guard let piece = pieces.last(where: { $0.offset <= offset }) else {
                return Position(line: 1, column: 1)
            }
            let columns = bytes[piece.offset..<min(offset, bytes.count)].count {
                $0 & 0xc0 != 0x80
            }
            return Position(line: piece.position.line, column: piece.position.column + columns)
        }
    }

    mutating func parse(_ bytes: [UInt8]) {
        guard bytes.count <= UnitFile.Limit.fileBytes else {
            return error(
                Position(line: 1, column: 1),
                "the file has \(bytes.count) bytes; at most \(UnitFile.Limit.fileBytes) are read")
        }
        var line = Line()
        var number = 0
        // A file that ends in a newline does not have an empty line after it.
        var text = bytes.last == newline ? bytes.dropLast() : bytes[...]
        // Some editors begin a file with a byte order mark, which is invisible; systemd skips it
        // too.
        if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
        for raw in text.split(separator: newline, omittingEmptySubsequences: false) {
            number += 1
            // After this many errors, this is not a unit file, and to read further only takes time.
            guard diagnostics.count < UnitFile.Limit.diagnostics else { return }
            guard let first = raw.firstIndex(where: { !isBlank($0) }) else {
                // An empty line also ends a continuation.
                finish(&line)
                continue
            }
            // A comment between the parts of a continued line is skipped.
            if raw[first] == UInt8(ascii: "#") || raw[first] == UInt8(ascii: ";") { continue }
            guard isText(raw, number) else {
                line = Line()
                continue
            }
            let column = 1 + raw[raw.startIndex..<first].count
            line.pieces.append(
                .init(
                    offset: line.bytes.count, position: Position(line: number, column: column)))
            line.bytes += raw[first...]
            if line.bytes.last == carriageReturn { line.bytes.removeLast() }
            if line.bytes.count > UnitFile.Limit.lineBytes {
                error(
                    line.pieces[0].position,
                    "the line is longer than \(UnitFile.Limit.lineBytes) bytes")
                line = Line()
            } else if isContinued(line.bytes) {
                line.bytes[line.bytes.count - 1] = blank
            } else {
                finish(&line)
            }
        }
        finish(&line)
    }

    /// Whether the line ends with an odd number of backslashes. An even number would be escaped
    /// backslashes.
    private func isContinued(_ bytes: [UInt8]) -> Bool {
        var count = 0
        while count < bytes.count, bytes[bytes.count - 1 - count] == backslash { count += 1 }
        return count % 2 == 1
    }

    private func columnOfBadUTF8(_ raw: ArraySlice<UInt8>) -> Int? {
        var bytes = raw.makeIterator()
        var decoder = UTF8()
        var column = 1
        while true {
            switch decoder.decode(&bytes) {
            case .scalarValue: column += 1
            case .emptyInput: return nil
            case .error: return column
            }
        }
    }

    private mutating func isText(_ raw: ArraySlice<UInt8>, _ number: Int) -> Bool {
        if let column = columnOfBadUTF8(raw) {
            error(Position(line: number, column: column), "the line is not UTF-8")
            return false
        }
        let bad = raw.firstIndex {
            ($0 < blank && $0 != tab && $0 != carriageReturn) || $0 == 0x7f
        }
        guard let bad else { return true }
        let column = 1 + raw[raw.startIndex..<bad].count { $0 & 0xc0 != 0x80 }
        error(
            Position(line: number, column: column),
            "control character \(raw[bad]) is not allowed; inside quotes write it as \\x"
                + (raw[bad] < 16 ? "0" : "") + String(raw[bad], radix: 16))
        return false
    }

    private mutating func finish(_ line: inout Line) {
        defer { line = Line() }
        var end = line.bytes.count
        while end > 0, isBlank(line.bytes[end - 1]) { end -= 1 }
        guard end > 0 else { return }
        if line.bytes[0] == UInt8(ascii: "[") {
            section(line, end)
        } else if let split = line.bytes.firstIndex(of: equals) {
            assignment(line, split)
        } else {
            let word = String(decoding: line.bytes[..<end].prefix(40), as: UTF8.self)
            error(line.position(at: 0), "expected [Section] or Key=value, found '\(word)'")
        }
    }

    private mutating func section(_ line: Line, _ end: Int) {
        guard line.bytes[end - 1] == UInt8(ascii: "]") else {
            return error(line.position(at: end), "expected ] at the end of the section's name")
        }
        let name = line.bytes[1..<(end - 1)]
        let isPlain = name.allSatisfy { $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }
        guard !name.isEmpty, isPlain else {
            return error(line.position(at: 1), "a section's name is not empty and has no brackets")
        }
        guard unit.sections.count < UnitFile.Limit.sections else {
            return error(
                line.position(at: 0), "more than \(UnitFile.Limit.sections) sections")
        }
        unit.sections.append(
            .init(
                name: String(decoding: name, as: UTF8.self), position: line.position(at: 1),
                assignments: []))
    }

    private mutating func assignment(_ line: Line, _ split: Int) {
        var end = split
        while end > 0, isBlank(line.bytes[end - 1]) { end -= 1 }
        guard end > 0 else {
            return error(line.position(at: 0), "expected a key before =")
        }
        let key = String(decoding: line.bytes[..<end], as: UTF8.self)
        guard !unit.sections.isEmpty else {
            return error(
                line.position(at: 0), "'\(key)=' comes before the first [Section]")
        }
        guard assignmentCount < UnitFile.Limit.assignments else {
            return error(
                line.position(at: 0), "more than \(UnitFile.Limit.assignments) assignments")
        }
        assignmentCount += 1
        unit.sections[unit.sections.count - 1].assignments.append(
            .init(
                key: key, position: line.position(at: 0), value: line.value(from: split + 1)))
    }

    private mutating func error(_ position: Position, _ message: String) {
        guard diagnostics.count < UnitFile.Limit.diagnostics else { return }
        diagnostics.append(
            Diagnostic(
                severity: .error, file: unit.file, position: position, message: message))
    }
}
