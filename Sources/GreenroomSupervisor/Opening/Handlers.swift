internal import GreenroomManifest

/// Finds the app that opens a URL or a document: by the longest match among what manifests declare.
///
///   scheme                      notes:…          URLSchemes=notes
///   the beginning of a URL      https://a.b/c    URLSchemes=https://a.b/
///   a suffix of a document      file:///x.md     DocumentTypes=*.md
///   its MIME type               text/markdown    DocumentTypes=text/markdown
///   a whole family of types     text/markdown    DocumentTypes=text/*
///
/// The app that was set as the default comes before every longer match. Without a default, several
/// matches of the same length are an error. A suffix of a document counts more than its MIME type,
/// and the type more than its family.
struct Handlers {
    struct Candidate {
        var app: String
        var application: AppManifest.Application
    }

    enum Failure: Error, Hashable {
        case none(String)
        case several(String, [String])
    }

    var candidates: [Candidate]
    /// The apps that were set as defaults, for example `scheme:notes` → `org.example.Notes`.
    var defaults: [String: String] = [:]

    func app(for url: String, contentType: String?) throws(Failure) -> String {
        var matches: [(app: String, key: String, score: Int)] = []
        for candidate in candidates {
            guard let best = Self.match(url, contentType, candidate.application) else { continue }
            matches.append((candidate.app, best.key, best.score))
        }
        // The app that the user chose comes before the longest match.
        if let chosen = matches.first(where: { defaults[$0.key] == $0.app }) { return chosen.app }
        guard let longest = matches.map(\.score).max() else { throw .none(url) }
        let best = matches.filter { $0.score == longest }
        guard best.count == 1 else { throw .several(url, best.map(\.app).sorted()) }
        return best[0].app
    }

    /// The longest match among one app's declarations; nil if the app does not open the URL.
    static func match(
        _ url: String, _ contentType: String?, _ application: AppManifest.Application
    ) -> (key: String, score: Int)? {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        var best: (key: String, score: Int)?
        func take(_ key: String, _ score: Int) {
            if score > best?.score ?? 0 { best = (key, score) }
        }
        for entry in application.urlSchemes {
            // A bare scheme is shorter than any beginning of a URL with that scheme.
            if entry == scheme || (entry.contains(":") && url.hasPrefix(entry)) {
                take("scheme:\(entry)", entry.utf8.count)
            }
        }
        guard scheme == "file" else { return best }
        let name = url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
        for entry in application.documentTypes {
            if entry.hasPrefix("*.") {
                let suffix = entry.dropFirst()
                if name.lowercased().hasSuffix(suffix.lowercased()), name.count > suffix.count {
                    take("type:\(entry)", 2000 + suffix.utf8.count)
                }
            } else if entry == contentType {
                take("type:\(entry)", 1000 + entry.utf8.count)
            } else if entry.hasSuffix("/*"), contentType?.hasPrefix(entry.dropLast()) == true {
                take("type:\(entry)", 500 + entry.utf8.count)
            }
        }
        return best
    }
}

/// The defaults that users set, one on each line: `scheme:notes org.example.Notes`.
enum HandlerDefaults {
    static let fileName = "default-handlers"
    /// More than anybody sets by hand.
    static let limit = 1024

    static func parse(_ text: String) -> [String: String] {
        var result: [String: String] = [:]
        for line in text.split(separator: "\n").prefix(limit) {
            let words = line.split(separator: " ")
            if words.count == 2 { result[String(words[0])] = String(words[1]) }
        }
        return result
    }

    static func text(of defaults: [String: String]) -> String {
        defaults.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    }
}
