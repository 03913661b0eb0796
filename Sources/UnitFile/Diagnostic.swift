/// A position in a text file. Lines and columns are counted from 1. Columns are characters (Unicode
/// scalars), as in an editor; a tab is one character.
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
    /// How serious the diagnostic is.
    public enum Severity: Sendable {
        /// The file cannot be used.
        case error
        /// The text at this position is ignored; the rest of the file is used.
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

    /// `file:line:column: message`. A warning has the word `warning` before its message.
    public var description: String {
        let place = "\(file):\(position.line):\(position.column): "
        switch severity {
        case .error: return place + message
        case .warning: return place + "warning: " + message
        }
    }
}

/// A value that cannot be read. The offset is counted in bytes of the value's text.
public struct ValueError: Error, Hashable, Sendable {
    public var offset: Int
    public var message: String

    public init(offset: Int = 0, message: String) {
        self.offset = offset
        self.message = message
    }
}
