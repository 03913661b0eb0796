internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// How far apps and instances are prewarmed, as clients see it.
@LoopActor
struct ReportedDepths {
    let core: Core
    let catalog: AppCatalog
    let objections: PrewarmObjections

    /// Nil if the app is not prewarmed, or pauses by itself.
    func depth(of app: InstalledApp) -> Control.Word<Control.PrewarmDepth>? {
        guard app.kind == .program, app.isPrewarmingWanted, objections.objection(to: app) == nil
        else { return nil }
        if app.command.pausesByCall { return .known(.declared) }
        let depth = core.lifecycle.depth(of: app.identifier, app.description.environmentKey)
        return .known(.init(depth))
    }

    /// Nil if the instance was not prewarmed, or pauses by itself.
    func depth(of record: InstanceRecord) -> Control.Word<Control.PrewarmDepth>? {
        let isOfPool =
            switch record.launchKind {
            case .prewarmed, .startedAnew: true
            case nil: record.state.isPrewarm
            case .cold, .resume, .foreground: false
            }
        let pausesItself = core.lifecycle.description(of: record.app)?.acknowledges == true
        guard isOfPool, !pausesItself else { return nil }
        let isDeclared = catalog[record.app]?.command.pausesByCall == true
        return .known(isDeclared ? .declared : .init(record.depth))
    }
}
