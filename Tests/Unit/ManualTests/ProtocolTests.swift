import Glibc
import GreenroomControl
import GreenroomLinux
import Testing
import Varlink

@Suite struct `The manual of the protocol` {
    private static let control = Interface(trusted: Control.interfaceText)
    private static let service = Interface(trusted: Service.interfaceText)

    @Test func `the page describes every method, and no other`() throws {
        let documented = try ManualPage("greenroom-protocol.7").subsections(of: "METHODS")
        #expect(documented.sorted() == Self.control.methods.keys.sorted())
    }

    @Test func `the page describes every error, and no other`() throws {
        let documented = try ManualPage("greenroom-protocol.7").subsections(of: "ERRORS")
        #expect(documented.sorted() == Self.control.errors.keys.sorted())
    }

    @Test func `the page names every error and method that each service has`() throws {
        let page = try ManualPage("greenroom-protocol.7").text
        for name in Self.service.errors.keys { #expect(page.contains(name)) }
        for name in Self.service.methods.keys { #expect(page.contains(name)) }
    }

    @Test func `the page names every reason why a program cannot be prewarmed`() throws {
        let page = try ManualPage("greenroom-protocol.7").text
        for reason in IneligibilityReason.allCases { #expect(page.contains(reason.code)) }
    }

    /// Codes that no client gets, because they refuse a request of the daemon itself, or of an app on
    /// its channel.
    private static let innerCodes: Set = ["not_triggered", "scheduled_work_off", "undeclared_task"]

    @Test func `the page names every code that a client can receive`() throws {
        let page = try ManualPage("greenroom-protocol.7").text
        var codes: Set<String> = []
        for file in sourceFiles(below: "GreenroomSupervisor") {
            codes.formUnion(
                try readFile(file).matches(of: /\bcode:\s*"([a-z_]+)"/).map { String($0.1) })
        }
        #expect(codes.count > 40)
        for code in codes.subtracting(Self.innerCodes) {
            #expect(page.firstMatch(of: try Regex("\\b\(code)\\b")) != nil, "\(code)")
        }
    }

    @Test func `the page numbers every message of the app channel, and no other`() throws {
        let channel = ManualPage.folder + "/../../GreenroomAppChannel"
        let source = try readFile(channel + "/Application/AppFrame.swift")
        let shared = try readFile(channel + "/Prewarming/WireFormat.swift")
        let numbers = (source + shared).matches(of: /\n    +case \w+ = (\d+)(?=\n)/).map {
            String($0.1)
        }
        let tags = try ManualPage("greenroom-protocol.7").tags
            .filter { $0.section.hasPrefix("APP CHANNEL") && $0.tag.contains(" (to the ") }
            .flatMap { $0.tag.prefix { $0 != "(" }.matches(of: /\d+/).map { String($0.0) } }
        #expect(numbers.count > 30)
        #expect(tags.sorted() == numbers.sorted())
    }

    @Test func `the page names every parameter of every method`() throws {
        let source = try ManualPage("greenroom-protocol.7").source
        for (name, method) in Self.control.methods {
            // The page describes all transitions under one of them.
            if Control.Transition(rawValue: name) != nil, name != "Foreground" { continue }
            let text = Self.body(of: name, in: source)
            for field in method.input + method.output {
                #expect(text.contains(field.name), "\(field.name) of \(name)")
            }
        }
        for (name, fields) in Self.control.errors {
            let text = Self.body(of: name, in: source)
            for field in fields { #expect(text.contains(field.name), "\(field.name) of \(name)") }
        }
    }

    /// With UPDATE_SNAPSHOTS=1 the test rewrites the page's copy.
    @Test func `the page has the interface definition word for word`() throws {
        let path = ManualPage.folder + "/greenroom-protocol.7"
        let parts = try readFile(path).components(separatedBy: Self.begin, and: Self.end)
        let (head, copy, tail) = try #require(parts)
        let wanted = Self.roff(Control.interfaceText)
        if getenv("UPDATE_SNAPSHOTS") != nil {
            try writeFile(path, head + Self.begin + wanted + Self.end + tail)
            return
        }
        #expect(copy == wanted, "UPDATE_SNAPSHOTS=1 makes it again")
    }

    private static let begin = ".\\\" begin interface\n"
    private static let end = ".\\\" end interface\n"

    private static func roff(_ text: String) -> String {
        var result = ".EX\n"
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let escaped = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            result += (line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" : "") + escaped + "\n"
        }
        while result.hasSuffix("\n\n") { result.removeLast() }
        return result + ".EE\n"
    }

    /// The text below `.SS name`.
    private static func body(of name: String, in source: String) -> String {
        guard let start = source.firstRange(of: ".SS \(name)\n")?.upperBound else { return "" }
        let rest = source[start...]
        return String(rest[..<(rest.firstRange(of: "\n.S")?.lowerBound ?? rest.endIndex)])
    }
}

extension String {
    /// The text before, between and after two marks.
    fileprivate func components(
        separatedBy first: String, and second: String
    ) -> (String, String, String)? {
        guard let from = firstRange(of: first),
            let to = self[from.upperBound...].firstRange(of: second)
        else { return nil }
        return (
            String(self[..<from.lowerBound]), String(self[from.upperBound..<to.lowerBound]),
            String(self[to.upperBound...])
        )
    }
}
