internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest

/// Reading everything anew while the daemon runs: greenroom.conf, then the manifests.
extension Daemon {
    func reload(_ report: @escaping (Control.ReloadReport) -> Void) {
        let faults = reconfigure()
        parts.installer.reloadInTurns { read in
            var read = read
            read.failed = faults + read.failed
            report(read)
        }
    }

    /// Settings that count from now on. A faulty file changes nothing.
    private func reconfigure() -> [Control.ManifestFault] {
        let (read, faults) = ConfigurationFile(options: options).readAgain(reporter)
        guard let configuration = read else { return faults }
        do { control.access = try Access(configuration, reporter: reporter) } catch {
            reporter.failed("looking up the groups of greenroom.conf", error)
        }
        parts.events.drop { [control] in control.access.audience(of: $0.peer) != $1 }
        listener?.limits =
            ControlListener.Limits(
                connections: configuration.connectionsMax,
                connectionsPerUser: configuration.connectionsPerUser
            ).fittingHere
        if let reason = supervisor.reclaimer.reconfigure(configuration) {
            reporter.sayOnce(
                "the kernel does not tell of memory pressure (\(reason)); free memory is looked at")
        }
        supervisor.work.reconfigure(configuration)
        supervisor.metrics.reconfigure(configuration)
        supervisor.handle(.policyChanged(Policy(configuration)))
        return faults
    }
}
