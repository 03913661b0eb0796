internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Reads greenroom.conf. A missing default file means the defaults; a faulty one stops the start,
/// so that a slip of the pen never means "the defaults".
struct ConfigurationFile {
    struct Faulty: Error, CustomStringConvertible { let description: String }

    let options: Options

    @LoopActor
    func read(_ reporter: Reporter) throws -> DaemonConfiguration {
        let (configuration, errors) = try parse(reporter)
        guard let configuration else {
            throw Faulty(description: errors.map(\.description).joined(separator: "\n"))
        }
        return configuration
    }

    /// While the daemon runs: what is wrong is said, and the settings in force stay.
    @LoopActor
    func readAgain(_ reporter: Reporter) -> (DaemonConfiguration?, [Control.ManifestFault]) {
        do throws(SystemError) {
            let (configuration, errors) = try parse(reporter)
            for error in errors { reporter.say(.error, error.description) }
            return (configuration, errors.map(Control.ManifestFault.init))
        } catch {
            reporter.say(.error, "\(error); the settings in force stay")
            return (
                nil,
                [.init(file: options.configurationFile, line: 0, column: 0, message: "\(error)")]
            )
        }
    }

    @LoopActor
    private func parse(
        _ reporter: Reporter
    ) throws(SystemError) -> (DaemonConfiguration?, errors: [Diagnostic]) {
        let text: String
        do throws(SystemError) {
            // It says who may launch others' apps.
            if let objection = PathOwners().objection(to: options.configurationFile) {
                throw objection.systemError
            }
            text = try SmallFile.text(of: options.configurationFile)
        } catch {
            if error.code == ENOENT, !options.isConfigurationRequired {
                return (DaemonConfiguration(), [])
            }
            throw error
        }
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            text, file: options.configurationFile)
        for diagnostic in diagnostics where diagnostic.severity == .warning {
            reporter.say(.warning, diagnostic.description)
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
        inspectsLocks = configuration.checksFileLocks
        lockGrace = configuration.lockedFileGrace
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
    /// Groups are resolved once, at the start; an unknown one is reported and allows nobody.
    @LoopActor
    init(_ configuration: DaemonConfiguration, reporter: Reporter) throws {
        func resolve(_ names: [String]) throws -> Set<gid_t> {
            var groups: Set<gid_t> = []
            for name in names {
                if let group = try UInt32(name) ?? Account.group(named: name) {
                    groups.insert(group)
                } else {
                    reporter.say(.warning, "greenroom.conf: no group “\(name)”, ignoring it")
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
