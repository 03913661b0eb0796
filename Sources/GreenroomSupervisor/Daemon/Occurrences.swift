internal import GreenroomLifecycle
internal import Systemd

/// Passes on what has happened to every part that keeps account of it.
@LoopActor
struct Occurrences {
    let accounts: LaunchAccounts
    let pauses: PauseAccounts
    let reporter: Reporter
    let screens: ShownScreens
    let metrics: Metrics
    let traces: LaunchTraces
    let learning: ImportLearning
    let learner: LibraryLearner

    func note(_ occurrence: Occurrence) {
        reporter.note(occurrence, accounts.note(occurrence))
        pauses.note(occurrence)
        screens.note(occurrence)
        metrics.note(occurrence)
        learning.note(occurrence)
        learner.note(occurrence)
        if case .stateChanged(let instance, let app, let old, let new, _) = occurrence {
            traces.moved(instance, app, from: old, to: new)
        }
    }
}
