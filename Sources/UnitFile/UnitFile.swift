/// A file in the syntax of systemd.syntax(7): `[Section]`, `Key=value`, comments, continuations.
///
/// Sections of one name are one section, and a key may repeat: it is up to the reader whether the
/// last assignment counts (``last(_:_:)``) or all of them do (``all(_:_:)``), and an empty one takes
/// back those before it.
public struct UnitFile: Hashable, Sendable {
    /// As it is to be shown in diagnostics.
    public var file: String
    /// The drop-ins that were merged in, in the order of their effect.
    public internal(set) var dropIns: [String] = []
    public var sections: [Section]

    /// One `[Section]`, as often as it stands in the file.
    public struct Section: Hashable, Sendable {
        public var name: String
        /// Of the name, inside the bracket.
        public var position: Position
        public var assignments: [Assignment]
    }

    /// One `Key=value`.
    public struct Assignment: Hashable, Sendable {
        public var key: String
        public var position: Position
        public var value: Value
    }

    public init(file: String, sections: [Section] = []) {
        self.file = file
        self.sections = sections
    }

    /// Every assignment of a key in file order, empty ones included.
    public func assignments(_ name: String, _ key: String) -> [Assignment] {
        // Asked for every key there is, so what is of no concern is not even copied.
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

/// The text of an assignment, and where each of its bytes stands in the file.
public struct Value: Hashable, Sendable {
    /// Without the blanks around it; each continuation is one blank.
    public var text: String
    /// Of the first byte, or of the place where a value could stand.
    public var position: Position { pieces[0].position }

    /// A continued value comes from several lines.
    struct Piece: Hashable, Sendable {
        /// In bytes of `text`.
        var offset: Int
        var position: Position
    }
    /// In order; never empty.
    var pieces: [Piece]

    /// Where a byte of the text stands. An offset at or beyond the end is that of the end.
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
