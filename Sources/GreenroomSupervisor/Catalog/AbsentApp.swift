internal import GreenroomControl

/// An app that has a manifest and is not installed.
struct AbsentApp {
    /// The manifest that counts.
    let file: String
    /// Why a reload did not install the app; nil if its manifest is masked.
    let fault: Control.ManifestFault?

    /// The reason, for clients.
    var note: Control.Note {
        guard let fault else { return .init(code: "masked", text: "masked by \(file)") }
        return .init(code: "manifest_refused", text: "refused because \(fault)")
    }
}
