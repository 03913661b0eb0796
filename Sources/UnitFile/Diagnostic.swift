/// A position in a text file. Line and column count from 1. Columns count characters (Unicode
/// scalars), as an editor shows them; a tab is one character.
public struct Position: Hashable, Sendable, Comparable {
    public var line: Int
    public var column: Int
    /// The index of the file among those from which a unit was merged; 0 is the first.
    public var source = 0

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    public static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.source, lhs.line, lhs.column) < (rhs.source, rhs.line, rhs.column)
    }
}

/// An error or a warning about a file, and its position.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    /// How serious it is.
    public enum Severity: Sendable {
        /// The file cannot be used.
        case error
        /// The text at this position is ignored; the rest of the file counts.
        case warning
    }
    public var severity: Severity
    public var file: String
    public var position: Position
    public var message: String

    public init(severity: Severity, file: String, position: Position, message: String) {
        self.severity = severity
        self.file = file
        self.position = position
        self.message = message
    }

    /// `file:line:column: message`. A warning has the word before its message.
    public var description: String {
        let place = "\(file):\(position.line):\(position.column): "
        switch severity {
        case .error: return place + message
        case .warning: return place + "warning: " + message
        }
    }
}

/// A value that cannot be read. The offset is in bytes of the value's text.
public struct ValueError: Error, Hashable, Sendable {
    public var offset: Int
    public var message: String

    public init(offset: Int = 0, message: String) {
        self.offset = offset
        self.message = message
    }
}
