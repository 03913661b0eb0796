internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Reads greenroom.conf. If the default file is missing, the defaults apply. A faulty file stops
/// the daemon's start, so that a typing error never means "the defaults".
struct ConfigurationFile {
    struct Faulty: Error, CustomStringConvertible { let description: String }

    let path: String
    /// True if the file was named, so that its absence is an error.
    let isRequired: Bool

    @LoopActor
    func read(_ log: Log) throws -> DaemonConfiguration {
        let (configuration, errors) = try parse(log)
        guard let configuration else {
            throw Faulty(description: errors.map(\.description).joined(separator: "\n"))
        }
        return configuration
    }

    /// Reads the file while the daemon runs. Faults are logged, and the settings in force stay.
    @LoopActor
    func readAgain(_ log: Log) -> (DaemonConfiguration?, [Control.ManifestFault]) {
        do throws(SystemError) {
            let (configuration, errors) = try parse(log)
            for error in errors { log.say(.error, error.description) }
            return (configuration, errors.map(Control.ManifestFault.init))
        } catch {
            log.say(.error, "\(error); the settings in force stay")
            return (
                nil,
                [.init(file: path, line: 0, column: 0, message: "\(error)")]
            )
        }
    }

    @LoopActor
    private func parse(
        _ log: Log
    ) throws(SystemError) -> (DaemonConfiguration?, errors: [Diagnostic]) {
        let text: String
        do throws(SystemError) {
            // The file decides who may launch other users' apps.
            if let objection = PathOwners().objection(to: path) {
                throw objection.systemError
            }
            text = try SmallFile.text(of: path)
        } catch {
            if error.code == ENOENT, !isRequired {
                return (DaemonConfiguration(), [])
            }
            throw error
        }
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            text, file: path)
        for diagnostic in diagnostics where diagnostic.severity == .warning {
            log.say(.warning, diagnostic.description)
        }
        return (configuration, diagnostics.filter { $0.severity == .error })
    }
}

extension Policy {
    init(_ configuration: DaemonConfiguration) {
        self.init()
        launchDeadline = configuration.launchDeadline
        pauseDeadline = configuration.pauseDeadline
        startDeadline = configuration.startDeadline
        backgroundGrace = configuration.backgroundGrace
        terminateGrace = configuration.terminateGrace
        prewarmTimeToLive = configuration.prewarmTimeToLive
        prewarmByteBudget = configuration.prewarmByteBudget
        concurrentPrewarms = configuration.concurrentPrewarms
        backOffFirst = configuration.backOffFirst
        backOffCap = configuration.backOffCap
        crashLoopCount = configuration.crashLoopCount
        crashLoopWindow = configuration.crashLoopWindow
        pressureQuietTime = configuration.pressureQuietTime
        inspectsConditions = true
        prewarmStartDelay = configuration.prewarmStartDelay
        inspectsFileLocks = configuration.checksFileLocks
        fileLockGrace = configuration.lockedFileGrace
        forceQuitLasts = configuration.forceQuitLasts
        pagesOutSuspended = configuration.pageOutSuspended != .no
        backgroundTaskLimit = configuration.backgroundTaskLimit
        refreshTaskLimit = configuration.refreshTaskLimit
        processingTaskLimit = configuration.processingTaskLimit
        taskIdleTime = configuration.taskIdleTime
        instanceLimit = min(configuration.instanceLimit, RuntimeState.instanceSlotCount / 2)
        instancesPerUser = configuration.instancesPerUser
        administrator = geteuid()
    }
}

extension Access {
    /// Resolves the groups once, when the file is read. An unknown group is logged and ignored.
    @LoopActor
    init(_ configuration: DaemonConfiguration, log: Log) throws {
        func resolve(_ names: [String]) throws -> Set<gid_t> {
            var groups: Set<gid_t> = []
            for name in names {
                if let group = try UInt32(name) ?? Account.group(named: name) {
                    groups.insert(group)
                } else {
                    log.say(.warning, "greenroom.conf: no group “\(name)”, ignoring it")
                }
            }
            return groups
        }
        self.init(
            daemonUser: getuid(), observers: try resolve(configuration.observeGroups),
            controllers: try resolve(configuration.controlGroups),
            administrators: try resolve(configuration.administerGroups))
    }
}

extension ControlListener.Limits {
    /// The configured limits, reduced if this process may not open enough descriptors for them.
    init(_ configuration: DaemonConfiguration) {
        self =
            ControlListener.Limits(
                connections: configuration.connectionsMax,
                connectionsPerUser: configuration.connectionsPerUser
            ).fittingHere
    }
}
