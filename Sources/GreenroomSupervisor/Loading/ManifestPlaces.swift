/// Where manifests, profiles and desktop entries lie.
struct ManifestPlaces: Sendable {
    /// The folders of manifests, in order of precedence.
    let directories: [String]
    /// Where the system's daemon has its apps; empty for that daemon itself.
    var systemDirectories: [String] = []
    /// The folders of profiles, in order of precedence.
    var profileDirectories: [String] = []
    var desktop = DesktopSource()
}
