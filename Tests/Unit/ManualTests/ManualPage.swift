import Glibc

/// A page in man(7), as far as the tests need it: headings, and the tagged paragraphs below them.
struct ManualPage {
    let name: String
    /// The text as it is in the file.
    let source: String

    struct Entry: Hashable {
        /// The text of `.SH` and `.SS`; empty above the first.
        var section = ""
        var subsection = ""
        /// The text of `.TP` and `.TQ`, without fonts and escapes.
        var tag = ""
    }
    private(set) var subsections: [Entry] = []
    private(set) var tags: [Entry] = []

    /// The repository's `Sources/Documentation/man`.
    static let folder =
        #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
        + "/Sources/Documentation/man"

    static let all = [
        "greenroomctl.1", "greenroom.app.5", "greenroom.conf.5", "greenroom-protocol.7",
        "greenroomd.8", "greenroom-spawner.8", "greenroom-app.3",
        "greenroom-foreground.1", "greenroom-launchscreen.1",
    ]

    init(_ name: String) throws {
        self.name = name
        source = try readFile(Self.folder + "/" + name)
        var place = Entry()
        var isTagDue = false
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = Self.words(String(line))
            switch words.first {
            case ".SH": place = Entry(section: words.dropFirst().joined(separator: " "))
            case ".SS":
                place.subsection = words.dropFirst().joined(separator: " ")
                subsections.append(place)
            case ".TP", ".TQ": isTagDue = true
            case .some where isTagDue:
                isTagDue = false
                var entry = place
                let isMacro = words[0].hasPrefix(".")
                let isAlternating = [".BR", ".BI", ".IR", ".RB", ".RI"].contains(words[0])
                entry.tag = words.dropFirst(isMacro ? 1 : 0)
                    .joined(separator: isAlternating ? "" : " ")
                tags.append(entry)
            case _: break
            }
        }
    }

    /// The tags below a section, and below a subsection of it if one is named.
    func tags(section: String, subsection: String? = nil) -> [String] {
        tags.filter { $0.section == section && (subsection ?? $0.subsection) == $0.subsection }
            .map(\.tag)
    }

    func subsections(of section: String) -> [String] {
        subsections.filter { $0.section == section }.map(\.subsection)
    }

    /// The text without fonts and escapes, so that words can be searched for.
    var text: String { Self.plain(source) }

    /// The macro and the arguments of a line.
    static func words(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in plain(line) {
            switch character {
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case " " where !isQuoted:
                if let word { words.append(word) }
                word = nil
            case _: word = (word ?? "") + String(character)
            }
        }
        return word.map { words + [$0] } ?? words
    }

    private static func plain(_ text: String) -> String {
        text.replacing("\\-", with: "-").replacing("\\c", with: "").replacing("\\&", with: "")
            .replacing("\\fB", with: "").replacing("\\fR", with: "").replacing("\\fI", with: "")
            .replacing("\\(aq", with: "'").replacing("\\e", with: "\\")
    }
}

struct NoSuchFile: Error { let path: String }

func readFile(_ path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw NoSuchFile(path: path) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    while case let next = getc(file), next != EOF { bytes.append(UInt8(next)) }
    return String(decoding: bytes, as: UTF8.self)
}

func writeFile(_ path: String, _ text: String) throws {
    guard let file = fopen(path, "w") else { throw NoSuchFile(path: path) }
    fputs(text, file)
    fclose(file)
}

/// The Swift files below a folder of `Sources`, at any depth.
func sourceFiles(below folder: String) -> [String] {
    func files(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(".") { continue }
            found += name.hasSuffix(".swift") ? ["\(path)/\(name)"] : files(in: "\(path)/\(name)")
        }
        return found
    }
    return files(in: ManualPage.folder + "/../../" + folder)
}
