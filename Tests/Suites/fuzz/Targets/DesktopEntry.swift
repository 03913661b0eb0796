import DesktopEntry

/// A file that anybody may put into `~/.local/share/applications`. It must be an entry, or have a
/// fault at a place in the file; and the program of its command must be a word of the entry,
/// whatever is opened.
func fuzzDesktopEntry(_ input: Input) {
    let bytes = input.rest
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    let entry: DesktopEntry
    do throws(DesktopEntry.Mistake) {
        guard
            let one = try DesktopEntry.parse(
                bytes, identifier: "org.example.x", file: "/a/org.example.x.desktop",
                locale: Locale("de_DE.UTF-8@euro"))
        else { return }
        entry = one
    } catch {
        guard error.line >= 1, error.column >= 1, error.line <= lines.count + 1 else {
            fatalError("\(error) is outside of the file")
        }
        return
    }
    for command in [entry.command].compactMap(\.self) + entry.actions.compactMap(\.command) {
        for files in [[], ["/a b"], ["file:///c%20d", "-x"], ["http://x/%zz"]] {
            guard
                let words = try? command.arguments(
                    opening: files, name: entry.name, icon: entry.icon, file: entry.file)
            else { continue }
            expect(words.first, command.program, "the program")
        }
    }
    _ = entry.isShown(in: ["GNOME", "KDE"])
}
