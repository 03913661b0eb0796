import Testing

/// greenroom-app(3) and the header of the library in C.
@Suite struct `The manual of the library in C` {
    private let page: ManualPage
    /// The header without comments, export marks and line breaks.
    private let header: String

    init() throws {
        page = try ManualPage("greenroom-app.3")
        let path = ManualPage.folder + "/../../CGreenroomApp/include/greenroom-app.h"
        header = try readFile(path).replacing(#/\/\*(.|\n)*?\*\//#, with: "")
            .replacing(#/#define.*/#, with: "").replacing(/\s+/, with: " ")
    }

    /// The declarations of the header, by name: `type name(parameters)`.
    private var declarations: [String: String] {
        var result: [String: String] = [:]
        let function = #/(?:GREENROOM_EXPORT|static inline) ([^;{]*?(\w+)\([^;{]*\))/#
        for match in header.matches(of: function) {
            result[String(match.2)] =
                match.1.replacing("( ", with: "(").replacing(#/ ?__attribute.*/#, with: "")
                .trimming(" ")
        }
        for match in header.matches(of: /typedef void (greenroom_\w+)\(([^;]*)\);/) {
            result[String(match.1)] =
                "typedef void \(match.1)(" + match.2.trimming(" ") + ")"
        }
        return result
    }

    /// The declarations of the page's synopsis, by name.
    private var synopsis: [String: String] {
        let parts = page.source.split(separator: "\n.SH ", omittingEmptySubsequences: false)
        let text = parts.first { $0.hasPrefix("SYNOPSIS") } ?? ""
        let lines = text.split(separator: "\n").filter { $0.hasPrefix(".BI ") }
            .map { ManualPage.words(String($0)).dropFirst().joined() }
        var result: [String: String] = [:]
        let joined = lines.joined(separator: " ").replacing(/\s+/, with: " ")
        for declaration in joined.split(separator: ";") {
            let plain = declaration.replacing("( ", with: "(").replacing(" )", with: ")")
                .trimming(" ")
            if let name = plain.firstMatch(of: /(\w+)\(/)?.1 { result[String(name)] = plain }
        }
        return result
    }

    @Test func `the page has every declaration of the header word for word, and no other`() {
        let (known, written) = (declarations, synopsis)
        #expect(known.count > 40)
        #expect(Set(known.keys).symmetricDifference(written.keys).sorted() == [])
        for (name, declaration) in known { #expect(written[name] == declaration) }
    }

    @Test func `the page gives the type of every callback`() throws {
        let lines = page.source.split(separator: "\n").filter { $0.hasPrefix(".B \"") }
        let written = lines.map { $0.dropFirst(4).dropLast() }.joined(separator: " ")
            .replacing(/\s+/, with: " ")
        let delegate = try #require(
            header.firstMatch(of: #/struct greenroom_delegate \{(.*?)\};/#)?.1)
        let members = delegate.split(separator: ";").map { $0.trimming(" ") }
            .filter { $0.contains("(*") }
        #expect(members.count > 20)
        for member in members { #expect(written.contains(member + ";"), "\(member)") }
    }

    @Test func `the page describes every function`() {
        let described = Set(
            page.tags.filter { $0.section == "DESCRIPTION" }
                .flatMap { $0.tag.matches(of: /greenroom_\w+/).map { String($0.0) } })
        let functions = declarations.filter { !$0.value.hasPrefix("typedef") }.keys
        #expect(Set(functions).subtracting(described).sorted() == [])
    }

    @Test func `the page names every type, member and constant of the header, and no other`() {
        let names = Set(header.matches(of: /greenroom_\w+|GREENROOM_\w+/).map { String($0.0) })
            .subtracting(["GREENROOM_APP_H", "GREENROOM_EXPORT"])
        let written = Set(page.text.matches(of: /greenroom_\w+|GREENROOM_\w+/).map { String($0.0) })
            .subtracting(["greenroom_app"])
        // The page names the values of an enumeration instead of its type.
        let enumerations = Set(header.matches(of: /enum (greenroom_\w+) \{/).map { String($0.1) })
        #expect(
            names.subtracting(written).subtracting(enumerations).sorted() == ["greenroom_app"])
        #expect(written.subtracting(names).sorted() == [])
        for structure in header.matches(of: /struct (greenroom_\w+) \{([^}]*)\}/) {
            for member in structure.2.matches(of: #/\(\*(\w+)\)|\b(\w+)(?=;|, \w+;|, \w+, \w+;)/#) {
                let name = String(member.1 ?? member.2 ?? "")
                #expect(page.text.contains(name), "\(name) of \(structure.1)")
            }
        }
    }
}

extension StringProtocol {
    fileprivate func trimming(_ character: Character) -> String {
        var rest = self[...]
        while rest.first == character { rest.removeFirst() }
        while rest.last == character { rest.removeLast() }
        return String(rest)
    }
}
