extension Value {
    /// Reads a signal by name (`SIGTERM`, `TERM`, `RTMIN+3`) or number. The numbers are those of
    /// Linux on x86-64 and aarch64 (signal(7)).
    public func signal() throws(ValueError) -> Int32 {
        if isDigits(text.utf8) {
            return Int32(try integer(1...64))
        }
        let name = text.hasPrefix("SIG") ? String(text.dropFirst(3)) : text
        if let index = signalNames.firstIndex(of: name) { return Int32(index + 1) }
        // The C library uses signals 32 and 33 itself.
        for (base, first, sign) in [("RTMIN", 34, 1), ("RTMAX", 64, -1)] where name.hasPrefix(base)
        {
            let rest = name.dropFirst(base.count)
            if rest.isEmpty { return Int32(first) }
            let mark: Character = sign > 0 ? "+" : "-"
            if rest.first == mark, isDigits(rest.dropFirst().utf8),
                let step = Int(rest.dropFirst()),
                step <= 30
            {
                return Int32(first + sign * step)
            }
        }
        throw ValueError(
            message: "'\(shown)' is not a signal such as SIGTERM"
                + suggestion(for: "SIG" + name, among: signalNames.map { "SIG" + $0 }))
    }
}

extension Word {
    /// Reads a signal by name or number, like ``Value/signal()``.
    public func signal() throws(ValueError) -> Int32 {
        let piece = Value.Piece(offset: 0, position: Position(line: 1, column: 1))
        return try Value(text: text, pieces: [piece]).signal()
    }
}

/// The names of signals, from number 1.
private let signalNames = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU",
    "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
]
