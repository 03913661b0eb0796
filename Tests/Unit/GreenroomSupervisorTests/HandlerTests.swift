import GreenroomManifest
import Testing

@testable import GreenroomSupervisor

@Suite struct `The app that opens` {
    private let browser = candidate("browser", schemes: ["https", "http"])
    private let shop = candidate("shop", schemes: ["https://shop.example/"])
    private let editor = candidate("editor", documents: ["text/*"])
    private let writer = candidate("writer", documents: ["text/markdown"])
    private let reader = candidate("reader", documents: ["*.md"])

    private static func candidate(
        _ app: String, schemes: [String] = [], documents: [String] = []
    ) -> Handlers.Candidate {
        var application = AppManifest.Application()
        application.urlSchemes = schemes
        application.documentTypes = documents
        return Handlers.Candidate(app: app, application: application)
    }

    private func app(
        _ url: String, _ type: String? = nil, among candidates: [Handlers.Candidate],
        defaults: [String: String] = [:]
    ) throws(Handlers.Failure) -> String {
        try Handlers(candidates: candidates, defaults: defaults).app(for: url, contentType: type)
    }

    @Test func `a URL declares the longest beginning of it`() throws {
        let both = [browser, shop]
        #expect(try app("https://shop.example/a", among: both) == "shop")
        #expect(try app("https://shop.example.org/", among: both) == "browser")
        #expect(throws: Handlers.Failure.none("gopher://a/")) {
            try app("gopher://a/", among: both)
        }
    }

    @Test func `a document declares its suffix, or its type, or the family of its type`() throws {
        let all = [editor, writer, reader]
        let url = "file:///home/x/notes.md"
        #expect(try app(url, "text/markdown", among: all) == "reader")
        #expect(try app(url, "text/markdown", among: [editor, writer]) == "writer")
        #expect(try app(url, "text/plain", among: [editor, writer]) == "editor")
        // A type says nothing about a URL that is not a file.
        #expect(throws: Handlers.Failure.self) {
            try app("https://a/notes.md", "text/markdown", among: all)
        }
    }

    @Test func `a URL that several apps declare alike is the one that the user chose`() throws {
        let other = Self.candidate("other", schemes: ["https"])
        let both = [browser, other]
        #expect(throws: Handlers.Failure.several("https://a/", ["browser", "other"])) {
            try app("https://a/", among: both)
        }
        let chosen = ["scheme:https": "other"]
        #expect(try app("https://a/", among: both, defaults: chosen) == "other")
        // The user's choice comes before a longer match.
        #expect(
            try app("https://shop.example/", among: both + [shop], defaults: chosen) == "other")
        // The choice of an app that is gone does not count.
        #expect(try app("https://a/", among: [browser], defaults: chosen) == "browser")
    }

    @Test func `a scheme by default is written in a file of lines`() {
        let defaults = ["scheme:notes": "a.b", "type:*.md": "c.d"]
        let text = HandlerDefaults.text(of: defaults)
        #expect(text == "scheme:notes a.b\ntype:*.md c.d\n")
        #expect(HandlerDefaults.parse(text + "half\na b c\n") == defaults)
    }
}
