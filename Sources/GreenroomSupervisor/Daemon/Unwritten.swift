internal import Systemd

/// What rooms keep in memory for a while before they write it.
@LoopActor
struct Unwritten {
    let metrics: Metrics
    let learning: ImportLearning
    let learner: LibraryLearner

    /// Writes all of it, before the daemon ends.
    func write() {
        metrics.write()
        learning.write()
        learner.write()
    }
}
