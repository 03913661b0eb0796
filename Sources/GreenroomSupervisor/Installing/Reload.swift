internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest
internal import Systemd

/// A room that has settings in greenroom.conf.
@LoopActor
protocol Reconfigured: AnyObject {
    /// Applies new settings.
    func reconfigure(_ configuration: DaemonConfiguration)
}

/// Reads everything again while the daemon runs: greenroom.conf, then the manifests.
@LoopActor
final class Reload {
    private let file: ConfigurationFile
    private let settings: ControlSettings
    private let core: Core
    private let events: EventStream
    private let rooms: [any Reconfigured]
    private let planning: WarmPlanning
    private let installer: AppInstaller
    private let degradations: Degradations
    private let log: Log

    init(
        file: ConfigurationFile, settings: ControlSettings, core: Core, events: EventStream,
        rooms: [any Reconfigured], planning: WarmPlanning, installer: AppInstaller,
        degradations: Degradations, log: Log
    ) {
        self.file = file
        self.settings = settings
        self.core = core
        self.events = events
        self.rooms = rooms
        self.planning = planning
        self.installer = installer
        self.degradations = degradations
        self.log = log
    }

    func begin(_ report: @escaping (Control.ReloadReport) -> Void) {
        let faults = reconfigure()
        installer.reloadInTurns { [planning] read in
            var read = read
            read.failed = faults + read.failed
            report(read)
            // The plan depends on the apps that are installed now.
            planning.review()
        }
    }

    /// Applies the settings of greenroom.conf. A faulty file changes nothing.
    private func reconfigure() -> [Control.ManifestFault] {
        let (read, faults, note) = file.readAgain(log)
        if let note {
            degradations.note(note)
        } else {
            degradations.forget(ConfigurationFile.noteCode)
        }
        guard let configuration = read else { return faults }
        do { settings.access = try Access(configuration, log: log) } catch {
            log.failed("looking up the groups of greenroom.conf", error)
        }
        events.drop { [access = settings.access] in access.audience(of: $0.peer) != $1 }
        settings.limits = ControlListener.ConnectionLimits(configuration)
        for room in rooms { room.reconfigure(configuration) }
        core.handle(.policyChanged(Policy(configuration)))
        installer.use(configuration.usableDefaultOccasion)
        // Comes after the new policy, which has the budget of the plan.
        planning.reconfigure(configuration)
        return faults
    }
}
