/// A locale in POSIX form, `lang_COUNTRY.ENCODING@MODIFIER`, which selects localized values
/// (Desktop Entry Specification 1.5, "Localized values for keys").
public struct Locale: Hashable, Sendable {
    /// The texts that a key may have in brackets, the best first.
    public let candidates: [String]

    /// - Parameter name: the value of LC_MESSAGES. `C`, `POSIX` and the empty string mean values
    ///   without a locale.
    public init(_ name: String) {
        var rest = name[...]
        let modifier = Self.cut(&rest, at: "@")
        _ = Self.cut(&rest, at: ".")
        let country = Self.cut(&rest, at: "_")
        guard !rest.isEmpty, rest != "C", rest != "POSIX" else {
            candidates = []
            return
        }
        var candidates: [String] = []
        if let country, let modifier { candidates.append("\(rest)_\(country)@\(modifier)") }
        if let country { candidates.append("\(rest)_\(country)") }
        if let modifier { candidates.append("\(rest)@\(modifier)") }
        self.candidates = candidates + [String(rest)]
    }

    /// The locale of messages in an environment (locale(7)).
    public init(environment: [String: String]) {
        let name = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }
            .first { !$0.isEmpty }
        self.init(name ?? "C")
    }

    private static func cut(_ text: inout Substring, at mark: Character) -> Substring? {
        guard let index = text.firstIndex(of: mark) else { return nil }
        defer { text = text[..<index] }
        return text[text.index(after: index)...]
    }
}
