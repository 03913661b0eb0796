import Glibc

/// What the output can show: colours and a width on a terminal, neither elsewhere.
struct Appearance: Equatable {
    var isColored = false
    /// Columns of the terminal; nil where lines may be as long as they like.
    var columns: Int?

    /// A file or a pipe.
    static let plain = Appearance()

    /// Of a descriptor and its environment (<https://no-color.org>, environ(7)).
    ///
    /// - Parameter environment: looks up a variable.
    static func of(_ descriptor: CInt, environment: (String) -> String?) -> Appearance {
        guard isatty(descriptor) == 1 else { return plain }
        let isDumb = environment("TERM").map { $0 == "dumb" || $0.isEmpty } ?? true
        let isRefused = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        // What a user sets counts before what the terminal says; 80 is what it has if it does not
        // say.
        let wanted = environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        return Appearance(
            isColored: !isDumb && !isRefused, columns: wanted ?? width(of: descriptor) ?? 80)
    }

    /// TIOCGWINSZ of ioctl_tty(2).
    private static func width(of descriptor: CInt) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    func styled(_ text: String, _ style: Style?) -> String {
        guard isColored, let style, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }
}

/// What a colour means here; the numbers are those of console_codes(4).
enum Style: String {
    case heading = "1"
    /// In front, or as it should be.
    case good = "32"
    /// Worth a look.
    case notable = "33"
    /// Failed.
    case bad = "31"
    /// Of no concern now.
    case faint = "2"
}
