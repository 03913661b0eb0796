internal import GreenroomLifecycle
internal import GreenroomManifest

extension Supervision {
    init(_ settings: AppManifest.SupervisionSettings) {
        self.init(
            restart: RestartPolicy(settings.restart), restartDelay: settings.restartDelay,
            maximumDelay: settings.maximumDelay, startLimitBurst: settings.startLimitBurst,
            startLimitInterval: settings.startLimitInterval,
            success: ExitStatusSet(settings.success),
            preventing: ExitStatusSet(settings.preventing))
    }
}

extension ExitStatusSet {
    init(_ statuses: AppManifest.ExitStatuses) {
        self.init(statuses: statuses.statuses, signals: statuses.signals)
    }
}

extension RestartPolicy {
    init(_ restart: AppManifest.SupervisionSettings.Restart) {
        switch restart {
        case .no: self = .never
        case .onFailure: self = .onFailure
        case .onAbnormal: self = .onAbnormal
        case .always: self = .always
        }
    }
}

extension Dependencies {
    init(_ settings: AppManifest.DependencySettings) {
        self.init(
            after: settings.after.map(AppIdentifier.init),
            requires: settings.requires.map(AppIdentifier.init),
            conflicts: settings.conflicts.map(AppIdentifier.init))
    }
}
