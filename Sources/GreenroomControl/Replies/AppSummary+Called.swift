extension Control.AppSummary {
    /// Whether the name of a link may mean the app that has these: the same identifier, its last
    /// component, the file name of the program, or the name for humans.
    ///
    /// Compares bytes, because `List` with `called` looks at every app.
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
