internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Depths as the history keeps them.
@LoopActor
struct RecordedDepths {
    let core: Core
    let catalog: AppCatalog

    /// - Returns: nil if the app pauses by itself.
    func recorded(
        _ depth: PrewarmDepth, of app: AppIdentifier
    ) -> Control.Word<Control.PrewarmDepth>? {
        if core.lifecycle.description(of: app)?.acknowledges == true { return nil }
        let isDeclared = catalog[app]?.command.pausesByCall == true
        return .known(isDeclared ? .declared : .init(depth))
    }
}
