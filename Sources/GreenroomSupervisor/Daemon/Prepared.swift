internal import GreenroomControl
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomPolicy
internal import Systemd

/// Why the daemon cannot start; says what to do.
struct StartError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The first stage of a start: everything that can fail for a reason that a person must correct.
/// The runtime directory is ours, the spawner has said what it holds, and nothing has been decided
/// yet.
@LoopActor
struct Prepared: ~Copyable {
    let options: Options
    let environment: [String]
    let catalog: AppCatalog
    let log: Log
    let configuration: DaemonConfiguration
    /// Set if these are not the settings of greenroom.conf.
    let configurationNote: Control.Note?
    /// Set if nothing can be kept in the state directory.
    let stateNote: Control.Note?
    let directory: RuntimeDirectory
    let disposal: Disposal
    let link: SpawnerLink
    let former: FormerState
}

extension Prepared {
    init(_ given: Options, _ environment: [String]) throws {
        let options = given.resolved(against: RuntimeDirectory.currentDirectory)
        let catalog = AppCatalog()
        let log = try Log(Journal(identifier: "greenroomd", fieldPrefix: "GREENROOM_")) {
            catalog.owner(of: $0)?.user
        }
        let (configuration, configurationNote) = try ConfigurationFile(options).read(log)
        let directory = try RuntimeDirectory(options.runtimeDirectory)
        let stateNote = StateDirectory.make(options.stateDirectory)
        DescriptorLimit.raise()
        let disposal = try Disposal()
        let (link, greeting) = try SpawnerLink.open(
            from: SpawnerSource(directory, options, mayStart: !Self.isManaged(environment)),
            grace: configuration.policy.terminateGrace, log: log)
        let former = try FormerState(
            greeting, LearnedFiles(stateDirectory: options.stateDirectory), log: log)
        self.init(
            options: options, environment: environment, catalog: catalog, log: log,
            configuration: configuration, configurationNote: configurationNote,
            stateNote: stateNote, directory: directory, disposal: disposal, link: link,
            former: former)
    }

    private static func isManaged(_ environment: [String]) -> Bool {
        environment.contains { $0.hasPrefix("INVOCATION_ID=") }
            && environment.contains { $0.hasPrefix("NOTIFY_SOCKET=") }
    }

    /// The next stages: the rooms are made, and what a former supervisor left is taken over.
    consuming func adopt() throws -> Start<StartStage.Adopted> {
        try Start(self).install().restore().reconcile().follow().begin()
    }
}

extension SpawnerSource {
    /// - Parameter directory: this daemon's. A spawner that was started for a daemon that then cannot
    ///   serve would be left over.
    init(_ directory: RuntimeDirectory, _ options: Options, mayStart: Bool) {
        self.init(
            runtimeDirectory: directory.path, program: options.spawnerPath, mayStart: mayStart)
    }
}
