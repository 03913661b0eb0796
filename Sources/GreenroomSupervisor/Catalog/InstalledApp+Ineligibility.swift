internal import GreenroomLifecycle
internal import GreenroomManifest

extension InstalledApp {
    /// Why it is never prewarmed and, where that can be changed, what to type; nil if it can be.
    var whyNeverPrewarmed: String? {
        guard let text = ineligibility?.text else { return nil }
        let name = identifier.rawValue
        // What is no name of a manifest's has none; with an @ it would be a template's.
        guard isDesktopOnly, ManifestName.isValid(name), !name.utf8.contains(UInt8(ascii: "@"))
        else { return text }
        return text + ": printf '[App]\\n[Prewarm]\\n' | greenroomctl edit --full --stdin \(name)"
    }
}
