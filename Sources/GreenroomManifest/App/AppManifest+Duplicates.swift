public import UnitFile

extension AppManifest {
    /// Keeps the first of several manifests with the same identifier. Each further one is an error
    /// that names the first.
    ///
    /// - Parameter taken: the identifiers of apps that are already known, and their files.
    public static func withoutDuplicates(
        _ manifests: [AppManifest], beside taken: [String: String] = [:]
    ) -> (manifests: [AppManifest], diagnostics: [Diagnostic]) {
        var places = taken
        var kept: [AppManifest] = []
        var diagnostics: [Diagnostic] = []
        for manifest in manifests {
            guard let place = places[manifest.identifier] else {
                places[manifest.identifier] =
                    "\(manifest.file):\(manifest.identifierPosition.line)"
                kept.append(manifest)
                continue
            }
            diagnostics.append(
                Diagnostic(
                    severity: .error, file: manifest.file, position: manifest.identifierPosition,
                    message: "the identifier \(manifest.identifier) is already that of "
                        + "\(place); set another Identifier="))
        }
        return (kept, diagnostics)
    }
}
