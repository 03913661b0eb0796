/// A file in the syntax of systemd.syntax(7): `[Section]`, `Key=value`, comments, continuations.
///
/// Sections with the same name are one section, and a key may be repeated. The reader decides
/// whether the last assignment is used (``last(_:_:)``) or all of them are (``all(_:_:)``). An
/// empty assignment cancels those before it.
public struct UnitFile: Hashable, Sendable {
    /// The name for diagnostics.
    public var file: String
    /// The drop-ins that were merged, in the order in which they take effect.
    public internal(set) var dropIns: [String] = []
    public var sections: [Section]

    /// A `[Section]`. The file may have several with the same name.
    public struct Section: Hashable, Sendable {
        public var name: String
        /// The position of the name, inside the brackets.
        public var position: Position
        public var assignments: [Assignment]
    }

    /// A `Key=value`.
    public struct Assignment: Hashable, Sendable {
        public var key: String
        public var position: Position
        public var value: Value
    }

    public init(file: String, sections: [Section] = []) {
        self.file = file
        self.sections = sections
    }

    /// All assignments of a key in the order of the file, including empty ones.
    public func assignments(_ name: String, _ key: String) -> [Assignment] {
        // This is called for every key, so other assignments are not copied.
        var found: [Assignment] = []
        for section in sections where section.name == name {
            for assignment in section.assignments where assignment.key == key {
                found.append(assignment)
            }
        }
        return found
    }

    /// The last assignment of a key; nil if there is none or it is empty ("the default").
    public func last(_ section: String, _ key: String) -> Value? {
        guard let value = assignments(section, key).last?.value, !value.text.isEmpty else {
            return nil
        }
        return value
    }

    /// The assignments of a key that form a list: those after the last empty one.
    public func all(_ section: String, _ key: String) -> [Value] {
        var values: [Value] = []
        for assignment in assignments(section, key) {
            if assignment.value.text.isEmpty {
                values = []
            } else {
                values.append(assignment.value)
            }
        }
        return values
    }
}

/// The text of an assignment, and the position of each of its bytes in the file.
public struct Value: Hashable, Sendable {
    /// The text without surrounding blanks. Each continuation becomes one blank.
    public var text: String
    /// The position of the first byte, or the position after the `=` if the text is empty.
    public var position: Position { pieces[0].position }

    /// The part of the value that comes from one line. A continued value has several.
    struct Piece: Hashable, Sendable {
        /// The offset in bytes of `text`.
        var offset: Int
        var position: Position
    }
    /// The pieces in order. There is at least one.
    var pieces: [Piece]

    /// A value that does not come from a file but, for example, from a command line.
    public init(_ text: String) {
        self.init(
            text: text, pieces: [Piece(offset: 0, position: Position(line: 1, column: 1))])
    }

    init(text: String, pieces: [Piece]) {
        self.text = text
        self.pieces = pieces
    }

    /// The position of a byte of the text; if the offset is beyond the end, the position of the
    /// end.
    public func position(at offset: Int) -> Position {
        let offset = min(max(0, offset), text.utf8.count)
        let piece = pieces.last { $0.offset <= offset } ?? pieces[0]
        let bytes = text.utf8.dropFirst(piece.offset).prefix(offset - piece.offset)
        let columns = bytes.count { $0 & 0xc0 != 0x80 }
        var position = piece.position
        position.column += columns
        return position
    }
}
