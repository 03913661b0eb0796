internal import GreenroomControl

/// An app that has a manifest and is not installed.
struct AbsentApp {
    enum Reason {
        case masked
        case refused(Control.ManifestFault)
        /// The app belongs to the system's daemon, and this is a user's.
        case isSystems
    }

    /// The manifest that takes precedence.
    let file: String
    let reason: Reason

    /// Whether this daemon has a manifest of the app, even a faulty one.
    var isOwn: Bool {
        switch reason {
        case .masked, .refused: true
        case .isSystems: false
        }
    }

    /// The reason, for clients.
    var note: Control.Note {
        switch reason {
        case .masked: .init(code: "masked", text: "masked by \(file)")
        case .refused(let fault):
            .init(code: "manifest_refused", text: "refused because \(fault)")
        case .isSystems:
            .init(
                code: Control.Note.ofSystem,
                text:
                    "\(file) belongs to the system's daemon, whose socket is /run/greenroom/control"
            )
        }
    }
}
