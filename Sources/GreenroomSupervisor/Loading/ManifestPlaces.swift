/// Where manifests and desktop entries lie.
struct ManifestPlaces: Sendable {
    /// The folders of manifests, in order of precedence.
    let directories: [String]
    /// Where the system's daemon has its apps; empty for that daemon itself.
    var systemDirectories: [String] = []
    var desktop = DesktopSource()
}
