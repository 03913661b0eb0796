import Glibc

/// What the output supports: colours and a width on a terminal, otherwise neither.
struct Appearance: Equatable {
    var isColored = false
    /// How many columns the terminal has; nil means that lines may have any length.
    var columns: Int?

    /// The appearance of a file or a pipe.
    static let plain = Appearance()

    /// The appearance of a descriptor, given the environment (<https://no-color.org>, environ(7)).
    ///
    /// - Parameter environment: looks up a variable.
    static func of(_ descriptor: CInt, environment: (String) -> String?) -> Appearance {
        guard isatty(descriptor) == 1 else { return plain }
        let isDumb = environment("TERM").map { $0 == "dumb" || $0.isEmpty } ?? true
        let isRefused = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        // The user's COLUMNS takes precedence over the terminal's width. The default is 80.
        let wanted = environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        return Appearance(
            isColored: !isDumb && !isRefused, columns: wanted ?? width(of: descriptor) ?? 80)
    }

    /// The width of a terminal (TIOCGWINSZ, ioctl_tty(2)).
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

/// The meanings of colours. The numbers are those of console_codes(4).
enum Style: String {
    case heading = "1"
    /// In the foreground, or in order.
    case good = "32"
    /// Something to look at.
    case notable = "33"
    case bad = "31"
    /// Something that does not matter now.
    case faint = "2"
}
