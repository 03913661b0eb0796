/// A place in a text file, both counted from 1. Columns count characters (Unicode scalars), as an
/// editor shows them, a tab being one.
public struct Position: Hashable, Sendable, Comparable {
    public var line: Int
    public var column: Int
    /// Which of the files that a unit was merged from; 0 is the first.
    public var source = 0

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    public static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.source, lhs.line, lhs.column) < (rhs.source, rhs.line, rhs.column)
    }
}

/// What is wrong with a file, and where.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    /// Whether what was meant can be known all the same.
    public enum Severity: Sendable {
        /// The file cannot be used.
        case error
        /// What stands there is ignored; the rest holds.
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

    /// `file:line:column: message`; a warning says so before its message.
    public var description: String {
        let place = "\(file):\(position.line):\(position.column): "
        switch severity {
        case .error: return place + message
        case .warning: return place + "warning: " + message
        }
    }
}

/// A value that does not read as what it should be. The offset is in bytes of the value's text.
public struct ValueError: Error, Hashable, Sendable {
    public var offset: Int
    public var message: String

    public init(offset: Int = 0, message: String) {
        self.offset = offset
        self.message = message
    }
}
