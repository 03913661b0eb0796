import Glibc
import GreenroomLinux

/// The MIME types of documents by their names, from the machine's list (the glob file of the
/// shared MIME database: `50:text/x-ldif:*.ldif`, the highest weight first).
struct MediaTypes {
    private struct Glob {
        var weight: Int
        var type: String
        /// In lower case, unless the pattern is case-sensitive.
        var pattern: String
        var isCaseSensitive: Bool
        var isSuffix: Bool
    }

    private let globs: [Glob]

    /// At most this many lines. Real lists have fewer.
    private static let lineLimit = 20_000

    init(_ text: String) {
        globs = text.split(separator: "\n").prefix(Self.lineLimit).compactMap { line in
            let parts = line.split(separator: ":")
            guard parts.count >= 3, let weight = Int(parts[0]) else { return nil }
            let isCaseSensitive = parts.count > 3 && parts[3].split(separator: ",").contains("cs")
            var pattern = isCaseSensitive ? String(parts[2]) : parts[2].lowercased()
            let isSuffix = pattern.hasPrefix("*")
            if isSuffix { pattern.removeFirst() }
            // Patterns other than suffixes are rare, and are not for documents that apps open.
            guard !pattern.isEmpty, !pattern.contains(where: { "*?[".contains($0) }) else {
                return nil
            }
            return Glob(
                weight: weight, type: String(parts[1]), pattern: pattern,
                isCaseSensitive: isCaseSensitive, isSuffix: isSuffix)
        }
    }

    /// The type by the highest weight, then by the longest pattern; nil if there is none or
    /// several.
    func type(ofFile name: String) -> String? {
        let lower = name.lowercased()
        let matches = globs.filter { glob in
            let name = glob.isCaseSensitive ? name : lower
            return glob.isSuffix ? name.hasSuffix(glob.pattern) : name == glob.pattern
        }
        guard
            let best = matches.max(by: {
                ($0.weight, $0.pattern.utf8.count) < ($1.weight, $1.pattern.utf8.count)
            })
        else { return nil }
        let types = matches.filter {
            $0.weight == best.weight && $0.pattern.utf8.count == best.pattern.utf8.count
        }
        return Set(types.map(\.type)).count == 1 ? best.type : nil
    }

    /// The type of all these file URLs; nil if they differ or a type is not known.
    static func ofAll(_ urls: [String]) -> String? {
        guard urls.allSatisfy({ $0.hasPrefix("file:") }),
            let text = try? SmallFile.text(of: "/usr/share/mime/globs2")
        else { return nil }
        let list = MediaTypes(text)
        let types = urls.map { url in
            url.split(separator: "/").last.flatMap { list.type(ofFile: String($0)) }
        }
        return Set(types).count == 1 ? types[0] : nil
    }
}
