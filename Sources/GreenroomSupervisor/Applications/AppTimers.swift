internal import GreenroomLifecycle
internal import GreenroomManifest
internal import Systemd

/// Launches apps in the background when their `[Timer]` says so. Time that the machine sleeps does not
/// count (CLOCK_MONOTONIC): what came due meanwhile comes after it wakes.
@LoopActor
final class AppTimers {
    /// Launches the app; its answer is nobody's business.
    var launch: ((AppIdentifier) -> Void)?

    private struct Entry {
        let schedule: AppManifest.Timer
        var source: EventSource?
    }
    private var entries: [AppIdentifier: Entry] = [:]

    /// Nobody waits for these: the kernel may put them together with other wake-ups.
    private static let accuracy: Duration = .milliseconds(50)

    /// The apps as they are now. A timer that is the same goes on.
    func update(_ apps: [(AppIdentifier, AppManifest.Timer?)], reporter: Reporter) {
        var next: [AppIdentifier: Entry] = [:]
        for (app, schedule) in apps {
            guard let schedule else { continue }
            if let entry = entries[app], entry.schedule == schedule {
                next[app] = entry
                continue
            }
            next[app] = Entry(schedule: schedule)
        }
        let fresh = next.filter { entries[$0.key]?.schedule != $0.value.schedule }.keys
        entries = next
        for app in fresh.sorted() {
            let schedule = entries[app]!.schedule
            // Without a first time, the clock starts now.
            arm(app, after: schedule.afterActivation ?? schedule.afterLaunch, reporter)
        }
    }

    private func arm(_ app: AppIdentifier, after delay: Duration?, _ reporter: Reporter) {
        entries[app]?.source = nil
        guard let delay else { return }
        do throws(SystemdError) {
            entries[app]?.source = try LoopActor.timer(after: delay, accuracy: Self.accuracy) {
                [unowned self] in fire(app, reporter)
            }
        } catch {
            reporter.failed("arming the timer of \(app)", error)
        }
    }

    private func fire(_ app: AppIdentifier, _ reporter: Reporter) {
        guard let schedule = entries[app]?.schedule else { return }
        arm(app, after: schedule.afterLaunch, reporter)
        launch?(app)
    }
}
