internal import GreenroomLifecycle
internal import GreenroomManifest

extension InstalledApp {
    /// Why the app is never prewarmed, with the command that changes this if there is one. Nil if
    /// the app can be prewarmed.
    var whyNeverPrewarmed: String? {
        guard let text = program.ineligibility?.text else { return nil }
        let name = identifier.rawValue
        // There is no such command if no manifest can have the app's name. A name with an @ would
        // be that of a template or of an instance.
        guard isDesktopOnly, ManifestName.isValid(name), !name.utf8.contains(UInt8(ascii: "@"))
        else { return text }
        return text + ": printf '[App]\\n[Prewarm]\\n' | greenroomctl edit --full --stdin \(name)"
    }
}
