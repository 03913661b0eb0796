internal import GreenroomLifecycle

extension RestartPolicy {
    /// The word that a manifest uses.
    var word: String {
        switch self {
        case .never: "no"
        case .onFailure: "on-failure"
        case .onAbnormal: "on-abnormal"
        case .always: "always"
        }
    }
}

extension SupervisionFailure {
    var code: String {
        switch self {
        case .startLimit: "start_limit"
        case .permanentStatus: "permanent_status"
        case .dependency: "dependency"
        }
    }

    /// The text that follows the name of the app.
    var words: String {
        switch self {
        case .startLimit:
            "was started too often within StartLimitIntervalSec= and is not started again"
        case .permanentStatus:
            "ended with a status of RestartPreventExitStatus= and is not started again"
        case .dependency: "could not be started without an app that it requires"
        }
    }
}

extension PrewarmObstacle {
    /// The code that `Explain` uses.
    var code: String {
        switch self {
        case .lowMemory: "low_memory"
        case .highLoad: "high_load"
        case .lowBattery: "low_battery"
        case .thermalStress: "thermal_stress"
        }
    }
}
