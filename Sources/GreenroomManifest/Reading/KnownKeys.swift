/// The keys for which a file's reader asks, so that the manual can be compared with them.
///
/// They depend on the text, because a reader may ask for some keys only if others are set.
enum KnownKeys {
    static func ofManifest(_ text: String) -> [String: Set<String>] {
        var reader = SectionReader(Array(text.utf8), file: "a.b.app")
        _ = AppManifest.read(&reader, ManifestName("a.b.app"), ManifestContext())
        return reader.keysBySection
    }

    static func ofConfiguration(_ text: String) -> [String: Set<String>] {
        var reader = SectionReader(Array(text.utf8), file: "greenroom.conf")
        var configuration = DaemonConfiguration()
        configuration.read(&reader)
        return reader.keysBySection
    }
}

extension SectionReader {
    fileprivate var keysBySection: [String: Set<String>] {
        Dictionary(known.map { ($0.section, Set($0.keys)) }, uniquingKeysWith: { $0.union($1) })
    }
}
