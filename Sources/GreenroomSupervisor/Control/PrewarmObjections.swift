internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Whether an app can be prewarmed at all.
@LoopActor
struct PrewarmObjections {
    let core: Core

    /// Why the app is never prewarmed: because of its files, or of what it was seen to do. Nil if
    /// it can be prewarmed.
    func objection(to app: InstalledApp) -> InstalledApp.Ineligibility? {
        if let ineligibility = app.program.ineligibility, let text = app.whyNeverPrewarmed {
            return .init(code: ineligibility.code, text: text)
        }
        let reason: IneligibilityReason
        switch core.lifecycle.misfire(of: app.identifier) {
        case .startsPrograms: reason = .startsPrograms
        case .changesProcess: reason = .changesProcess
        case .secureExecution: reason = .secureExecution
        case nil: return nil
        }
        return .init(code: reason.code, text: reason.explanation)
    }
}
