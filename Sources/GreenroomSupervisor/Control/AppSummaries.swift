internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// The apps, as `List` shows them.
@LoopActor
struct AppSummaries {
    let core: Core
    let catalog: AppCatalog
    let authorization: Authorization
    let objections: PrewarmObjections
    let depths: ReportedDepths

    /// The apps that the client may observe, by identifier.
    func summaries(for peer: Peer) -> [Control.AppSummary] {
        summaries(of: catalog.apps, for: peer)
    }

    /// The apps that a link with this name may mean.
    func summaries(calledAs name: String, for peer: Peer) -> [Control.AppSummary] {
        let called = catalog.apps.filter { app in
            Control.AppSummary.isCalled(
                name, identifier: app.identifier.rawValue, program: app.program.path,
                name: app.name)
        }
        return summaries(of: called, for: peer)
    }

    private func summaries(of apps: [InstalledApp], for peer: Peer) -> [Control.AppSummary] {
        apps.filter { authorization.mayDo(.observe, owner: $0.account, peer) }.map { app in
            let states = core.lifecycle.states(of: app.identifier)
            let running = states.filter(\.isLaunched)
            var summary = Control.AppSummary(
                identifier: app.identifier.rawValue, name: app.name,
                isEligible: objections.objection(to: app) == nil,
                prewarmedCount: states.count { $0 == .prewarmed },
                prewarmTarget: app.description.prewarmCount
                    + core.lifecycle.spareCount(of: app.identifier),
                runningCount: running.count,
                state: Control.ExecutionState(
                    running.max { $0.prominence < $1.prominence }
                        ?? (states.contains(.prewarmed) ? .prewarmed : .notRunning))
            )
            summary.program = app.program.path
            summary.manifestFile = app.isDesktopOnly ? nil : app.manifestPath
            summary.desktop = app.desktop?.facts
            summary.depth = depths.depth(of: app)
            summary.profile = app.program.depth.profile
            if summary.depth != nil {
                let lifecycle = core.lifecycle
                summary.savedUSec = lifecycle.savedTime(of: app.identifier)?.microseconds
                summary.isSavingEstimated =
                    summary.savedUSec != nil && lifecycle.measuredSaving(of: app.identifier) == nil
            }
            return summary
        }
    }

    /// The apps of `summaries(for:)`, and those that have a manifest and are not installed.
    func allSummaries(for peer: Peer) -> [Control.AppSummary] {
        let absent = authorization.absent(for: peer).map { name, app in
            var summary = Control.AppSummary(identifier: name, isEligible: false)
            summary.manifestFile = app.file
            summary.refusal = app.note
            let running = core.lifecycle.states(of: AppIdentifier(name)).filter(\.isLaunched)
            summary.runningCount = running.count
            if let state = running.max(by: { $0.prominence < $1.prominence }) {
                summary.state = .known(Control.ExecutionState(state))
            }
            return summary
        }
        return (summaries(for: peer) + absent).sorted { $0.identifier < $1.identifier }
    }
}

extension ExecutionState {
    /// If an app has several instances, the state with the highest value is shown as the app's
    /// state.
    fileprivate var prominence: Int {
        switch self {
        case .notRunning: 0
        case .prewarming: 1
        case .prewarmed: 2
        case .terminating: 3
        case .suspended: 4
        case .background: 5
        case .launching: 6
        case .inactive: 7
        case .active: 8
        }
    }
}
