internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Makes the orders with which the spawner starts a process, either to pause it or to launch it
/// cold.
@LoopActor
final class SpawnOrders {
    /// A failure before the order was sent to the spawner.
    struct Failure: Error {
        let stage: String
        let code: CInt

        init(_ stage: String, _ code: CInt) {
            self.stage = stage
            self.code = code
        }
    }

    /// What only an instance that is to be paused needs.
    struct Preparations {
        let shimPath: String
        /// Knows the libraries that the instance opens before its pause.
        let learner: LibraryLearner
        /// Has the socket to which the instance reports what it has imported.
        let records: ImportRecords
    }

    private let sockets: ListeningSockets
    private let handover: CredentialHandover
    private let appLaunches: AppLaunches
    private let log: Log
    private let contexts: LaunchContexts
    private let output: AppOutput
    private let preparations: Preparations
    private let dataFolders: DataFolders

    init(
        contexts: LaunchContexts, output: AppOutput, preparations: Preparations,
        dataFolders: DataFolders, sockets: ListeningSockets, handover: CredentialHandover,
        appLaunches: AppLaunches, log: Log
    ) {
        self.sockets = sockets
        self.handover = handover
        self.appLaunches = appLaunches
        self.log = log
        self.contexts = contexts
        self.output = output
        self.preparations = preparations
        self.dataFolders = dataFolders
    }

    /// The order for an instance that is to be paused. It contains no arguments of a client, and
    /// only those variables of a client's environment that are read before main.
    func prewarm(
        _ instance: InstanceIdentifier, _ app: InstalledApp, _ key: EnvironmentKey,
        _ depth: PrewarmDepth
    ) throws(Failure) -> SpawnSpecification {
        var environment = try environment(of: app, key)
        var executions: UInt32 = 0
        var interpreter: (path: String, words: [String])?
        var words = app.wordsBeforePause
        if app.kind == .program {
            guard let paused = PausedProgram(of: app, environment: environment) else {
                throw Failure("finding the program's interpreter in PATH", ENOENT)
            }
            var library = preparations.shimPath
            if depth == .window, let withholding = app.program.depth.withholding {
                guard Self.namesDisplay(environment) else {
                    throw Failure("finding the display of the session", ENXIO)
                }
                library = withholding
                if app.program.depth.isHeldOnlyOnX11 {
                    environment.append("\(PrewarmEnvironment.pauseName)=x11")
                }
                words = app.command.arguments[...]
            }
            let name = PrewarmEnvironment.preloadName + "="
            let own = environment.first { $0.hasPrefix(name) }.map {
                ":" + $0.dropFirst(name.count)
            }
            environment.removeAll { $0.hasPrefix(name) }
            environment += [
                name + library + (own ?? ""),
                "\(PrewarmEnvironment.executableName)=\(paused.path)",
            ]
            executions = paused.executions
            if app.command.pausesByCall {
                environment.append("\(PrewarmEnvironment.pauseName)=call")
                // The program runs its own code before the pause, and may execute anything.
                executions = 0
            } else if depth == .runtime, let start = paused.start(of: app) {
                environment = start.environment(environment)
                environment.append("\(PrewarmEnvironment.pauseName)=call")
                if let name = start.processName {
                    environment.append("\(PrewarmEnvironment.processNameName)=\(name)")
                }
                if let path = preparations.records.socketPath(for: app) {
                    environment.append("\(RuntimeStart.recordName)=\(path)")
                }
                interpreter = (paused.namedPath, start.words)
                // Only the interpreter itself is executed, and nothing that it might run.
                executions = 1
                if let executable = start.executable {
                    environment.removeAll {
                        $0.hasPrefix("\(PrewarmEnvironment.executableName)=")
                    }
                    environment.append("\(PrewarmEnvironment.executableName)=\(executable)")
                    // The system's script and R itself are executed, and both start programs
                    // (`uname`) when they boot.
                    executions = 0
                }
            } else if depth == .libraries {
                let paths = preparations.learner.libraries(
                    for: LibraryLesson(
                        app: app.identifier, generation: app.description.generation,
                        environmentKey: key))
                environment += [
                    "\(PrewarmEnvironment.librariesName)=\(paths.joined(separator: ":"))",
                    "\(PrewarmEnvironment.announcesName)=1",
                ]
            }
        } else {
            environment.append("ActivePrewarm=1")
        }
        var specification = try specification(
            .instance(instance), app,
            interpreter.map { StringBlock($0.words) } ?? StringBlock(words),
            StringBlock(environment), takesOutput: false)
        if let interpreter { specification.path = interpreter.path }
        specification.wantsChannel = true
        specification.guardedExecutions = executions
        specification.oomScoreAdjustment = Instance.oomScoreAdjustment(for: .prewarmed)
        return specification
    }

    /// Whether a program finds an X server or a Wayland compositor with that environment.
    private static func namesDisplay(_ environment: [String]) -> Bool {
        environment.contains {
            ["DISPLAY=", "WAYLAND_DISPLAY="].contains($0.prefix { $0 != "=" } + "=")
                && $0.utf8.last != UInt8(ascii: "=")
        }
    }

    /// The order for a process that inspects which imports of the app change nothing for a launch.
    /// The process is started like one that is prewarmed, but without the preloaded library, and it
    /// ends by itself.
    ///
    /// - Parameters:
    ///   - list: the names, which the process reads.
    ///   - report: the memory that the process writes its findings to.
    ///   - takesBeginning: whether it reads what the manifest's script imports first.
    func inspection(
        _ number: SpawnNumber, _ app: InstalledApp, _ key: EnvironmentKey, list: FileDescriptor,
        report: FileDescriptor, takesBeginning: Bool
    ) throws(Failure) -> SpawnSpecification {
        let environment = try environment(of: app, key)
        guard let paused = PausedProgram(of: app, environment: environment),
            let start = paused.start(of: app)
        else { throw Failure("finding the program's interpreter in PATH", ENOENT) }
        var specification = try specification(
            number, app, StringBlock(start.inspection(takesBeginning: takesBeginning)),
            StringBlock(start.environmentOfInspection(environment)), takesOutput: true)
        specification.path = paused.namedPath
        specification.descriptors = [.init(list, at: 0), .init(report, at: 1)]
        specification.oomScoreAdjustment = Instance.oomScoreAdjustment(for: .prewarmed)
        return specification
    }

    /// The order for a process that watches the names of an instance on the bus of its environment.
    /// The process ends when nobody has the other end of the socket any more.
    func watch(
        _ number: SpawnNumber, _ app: InstalledApp, _ key: EnvironmentKey, program: String,
        socket: FileDescriptor
    ) throws(Failure) -> SpawnSpecification {
        let environment = try environment(of: app, key)
        var specification = try specification(
            number, app, StringBlock([program, "--watch"]), StringBlock(environment),
            takesOutput: true)
        specification.path = program
        specification.descriptors = [.init(socket, at: 0)]
        specification.oomScoreAdjustment = Instance.oomScoreAdjustment(for: .prewarmed)
        return specification
    }

    /// The environment of a process that nobody has launched.
    private func environment(
        of app: InstalledApp, _ key: EnvironmentKey
    ) throws(Failure) -> [String] {
        var environment = app.environment.strings
        if key != app.description.environmentKey {
            guard let pool = contexts.environments[key, app.poolOwner] else {
                throw Failure("recalling the pool's environment", ENOENT)
            }
            environment = pool.overlaid(
                on: app.environment.strings, extraNames: app.environment.extraKeyNames,
                runtime: app.environment.runtime, isWhole: app.environment.isWhole)
        }
        // The spawner sets the first two itself.
        environment.removeAll {
            $0.hasPrefix(PrewarmEnvironment.channelName + "=")
                || $0.hasPrefix(PrewarmEnvironment.writtenName + "=")
                || $0.hasPrefix(PrewarmEnvironment.librariesName + "=")
        }
        return environment
    }

    func launch(
        _ instance: InstanceIdentifier, _ app: InstalledApp, _ context: LaunchContext,
        _ terms: LaunchTerms
    ) throws(Failure) -> SpawnSpecification {
        do throws(SystemError) {
            try handover.provide(to: instance, of: app)
        } catch {
            log.say(
                .error, "the credentials of \(app.identifier): \(error)",
                of: app.identifier.rawValue)
            throw Failure("handing over the credentials", error.code)
        }
        let environment =
            if let own = contexts.environment(of: context, app, instance, pid: nil) {
                StringBlock(strings: own)
            } else {
                StringBlock(
                    terminated: app.environment.encoded.bytes, count: app.environment.encoded.count)
            }
        var specification = try specification(
            .instance(instance), app, StringBlock(strings: context.arguments), environment,
            takesOutput: [1, 2].allSatisfy {
                context.standardStreams[$0] != nil || context.isClosed($0)
            })
        for (target, stream) in context.standardStreams.enumerated() {
            guard let stream else { continue }
            specification.descriptors.removeAll { $0.target == CInt(target) }
            specification.descriptors.append(.init(stream, at: CInt(target)))
        }
        specification.descriptors.removeAll { $0.target <= 2 && context.isClosed(Int($0.target)) }
        specification.descriptors += context.otherDescriptors.map {
            SpawnSpecification.PassedDescriptor($0.descriptor, at: $0.number)
        }
        if let state = context.inherited {
            specification.closedDescriptors = UInt8(state.closedDescriptors)
            specification.inherited = state.encoded(atPause: false)
        }
        if let directory = context.workingDirectory {
            specification.workingDirectoryDescriptor = directory
        }
        if let umask = context.umask { specification.fileModeMask = umask }
        if app.kind == .applicationKit {
            specification.wantsChannel = true
            appLaunches.prepare(
                appLaunches.launch(instance, of: app, context, terms), for: instance)
        }
        specification.takesControllingTerminal = context.takesTerminal
        if let path = context.executablePath { specification.path = path }
        specification.oomScoreAdjustment = Instance.oomScoreAdjustment(
            for: terms.inBackground ? .background : .foreground)
        return specification
    }

    /// What a cold and a prewarmed instance have in common: everything but the pause.
    private func specification(
        _ number: SpawnNumber, _ app: InstalledApp, _ arguments: StringBlock?,
        _ environment: StringBlock?, takesOutput: Bool
    ) throws(Failure) -> SpawnSpecification {
        guard let arguments, let environment else {
            throw Failure(SpawnError.Stage.arguments.activity, EINVAL)
        }
        makeContainer(of: app)
        var specification = SpawnSpecification(
            instance: number.rawValue, app: app.identifier.rawValue, path: app.program.path,
            arguments: arguments, environment: environment)
        specification.workingDirectory = app.command.workingDirectory ?? app.command.startDirectory
        specification.fileModeMask = app.command.umask ?? InstalledApp.defaultUmask
        if app.identity.changesUser {
            specification.identity = .init(
                user: app.account.user, group: app.account.group,
                supplementaryGroups: app.identity.groups)
        }
        specification.noNewPrivileges = app.restrictions.noNewPrivileges
        specification.confinement = app.restrictions.confinement
        specification.cgroupSettings = app.restrictions.cgroupSettings
        specification.resourceLimits = app.restrictions.limits
        if !takesOutput, case .instance(let instance) = number,
            let stream = output.stream(for: app, instance: instance)
        {
            specification.descriptors = [.init(stream, at: 1), .init(stream, at: 2)]
        }
        if app.description.hasSockets {
            specification.descriptors += sockets.passed(to: app.identifier)
        }
        return specification
    }

    /// Makes the app's folders. If that fails, the app runs nevertheless, and gets an error when it
    /// writes to them.
    private func makeContainer(of app: InstalledApp) {
        guard app.hasContainer else { return }
        do throws(SystemError) { try dataFolders.make(for: app) } catch {
            log.say(
                .error, "making the folders of \(app.identifier): \(error)",
                of: app.identifier.rawValue)
        }
    }
}
