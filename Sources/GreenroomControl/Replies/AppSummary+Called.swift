extension Control.AppSummary {
    /// Whether the name of a link may mean the app with this identifier, program and name: the name
    /// must equal the identifier, its last component, the program's file name, or the name for
    /// people.
    ///
    /// Compares bytes, because `List` with `called` checks every app.
    public static func isCalled(
        _ link: String, identifier: String, program: String?, name: String?
    ) -> Bool {
        identifier == link || name == link
            || ends(identifier, with: link, after: UInt8(ascii: "."))
            || program.map { ends($0, with: link, after: UInt8(ascii: "/")) } == true
    }

    private static func ends(_ text: String, with end: String, after separator: UInt8) -> Bool {
        let (text, end) = (text.utf8, end.utf8)
        guard !end.isEmpty, text.count > end.count, text.suffix(end.count).elementsEqual(end)
        else { return false }
        return text.dropLast(end.count).last == separator
    }
}
