public import UnitFile

extension AppManifest {
    /// Of manifests with one identifier only the first holds; each other one is an error that names
    /// the first.
    public static func withoutDuplicates(
        _ manifests: [AppManifest]
    ) -> (manifests: [AppManifest], diagnostics: [Diagnostic]) {
        var first: [String: AppManifest] = [:]
        var kept: [AppManifest] = []
        var diagnostics: [Diagnostic] = []
        for manifest in manifests {
            guard let other = first[manifest.identifier] else {
                first[manifest.identifier] = manifest
                kept.append(manifest)
                continue
            }
            diagnostics.append(
                Diagnostic(
                    severity: .error, file: manifest.file, position: manifest.identifierPosition,
                    message: "the identifier \(manifest.identifier) is already that of "
                        + "\(other.file):\(other.identifierPosition.line); "
                        + "set another Identifier="))
        }
        return (kept, diagnostics)
    }
}
