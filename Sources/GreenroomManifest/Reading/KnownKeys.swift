/// The keys that the reader of a manifest asks for, by section.
///
/// The keys depend on the text, because a reader may ask for some keys only if others are set.
enum KnownKeys {
    static func ofManifest(_ text: String) -> [String: Set<String>] {
        var reader = SectionReader(Array(text.utf8), file: "a.b.app")
        _ = AppManifest.read(&reader, ManifestName("a.b.app"), ManifestContext())
        return reader.keysBySection
    }
}

extension SectionReader {
    /// What was asked for.
    var keysBySection: [String: Set<String>] {
        Dictionary(known.map { ($0.section, Set($0.keys)) }, uniquingKeysWith: { $0.union($1) })
    }
}

extension AppManifest {
    /// The sections that may contain the key.
    public static func sections(of key: String) -> [String] {
        let text = [
            "Prewarm", "LaunchScreen", "Application", "Timer", "Path", "Install", "Supervision",
            "Dependencies", "Socket", "Sandbox", "Resources",
        ].map { "[\($0)]\n" }.joined()
        let keys = KnownKeys.ofManifest("[App]\nExec=/bin/true\n" + text)
        return keys.filter { $0.value.contains(key) }.map(\.key).sorted()
    }
}
