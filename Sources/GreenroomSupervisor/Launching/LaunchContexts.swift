internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Gathers what a launch brings along, from its call or, for a launch of the daemon's own, from the
/// app's manifest. `Requests` keeps it until the request is answered.
///
/// A launch that no paused instance can serve gets a cold reason here. If several apply, the first
/// of these is given:
/// 1. `callerState`: the caller's descriptors or state, which only a new process can take over
/// 2. `environmentMismatch`: the environment
/// 3. `callerState`: what the paused interpreter cannot take over
/// 4. `reasonNotToHold`: what the windows of a held program cannot serve
@LoopActor
final class LaunchContexts {
    /// Hears when apps are ready; nil if the listener could not be made.
    let readiness: ReadinessListener?
    /// The pool environments that launches have asked for.
    private(set) var environments: PoolEnvironments

    private let core: Core
    private let instances: InstanceTable
    private let requests: Requests
    private let sockets: ListeningSockets
    private let credentials: CredentialDirectories
    private let dataFolders: DataFolders
    private let digest: KeyedDigest
    private var pausedStates: [AppIdentifier: PausedState] = [:]

    init(
        core: Core, instances: InstanceTable, requests: Requests, sockets: ListeningSockets,
        credentials: CredentialDirectories, dataFolders: DataFolders, digest: KeyedDigest,
        readiness: ReadinessListener?
    ) {
        self.core = core
        self.instances = instances
        self.requests = requests
        self.sockets = sockets
        self.credentials = credentials
        self.dataFolders = dataFolders
        self.readiness = readiness
        self.digest = digest
        environments = PoolEnvironments(digest: digest)
    }

    /// A digest of the launch's words, which distinguishes it from launches of the app that do
    /// something else (`LaunchRequest.work`). 0 for an app whose depth is not measured.
    func work(of context: LaunchContext, for app: InstalledApp) -> UInt64 {
        guard app.description.importBasis != nil || app.program.depth.opensLibraries else {
            return 0
        }
        return max(1, digest.digest(of: context.arguments.map(\.shown)))
    }

    /// An instance has reached its pause.
    func noticePause(of instance: Instance, threadCount: Int) {
        pausedStates[instance.app] = InheritedState(observing: instance.pid).map {
            PausedState(state: $0, threadCount: threadCount)
        }
    }

    /// An instance of a former supervisor is still paused. Only that supervisor was told how many
    /// threads the instance has.
    func recallPause(of instance: Instance) {
        if pausedStates[instance.app] == nil { noticePause(of: instance, threadCount: .max) }
    }

    /// Called when the app was removed.
    func forgetPause(of app: AppIdentifier) { pausedStates[app] = nil }

    // MARK: Serving

    /// What the process that serves the launch begins with. If no request wants the launch, that is
    /// what the manifest says. Asked again if another process serves the launch in the end.
    func contextToServe(
        _ origin: LaunchOrigin, of app: InstalledApp, _ terms: LaunchTerms
    ) -> LaunchContext? {
        var context = LaunchContext(
            arguments: app.command.arguments.map(ByteString.text), requestedAt: core.now)
        switch origin {
        case .request(let request): return requests[request]?.context
        case .daemon: break
        case .connection: context.reason = .socket
        case .call: context.isCall = true
        }
        if terms.isForTask { context.reason = .scheduledTask }
        addNotifySocket(to: &context, of: app)
        return context
    }

    /// The environment of a process that has variables for this launch or for this process alone.
    /// Nil if the process gets the app's own environment, which is encoded already.
    ///
    /// - Parameter pid: nil if the process is yet to be made.
    func environment(
        of context: LaunchContext, _ app: InstalledApp, _ instance: InstanceIdentifier,
        pid: Int32?
    ) -> [ByteString]? {
        var environment = context.environment
        if !app.credentials.isEmpty {
            environment = credentials.environment(
                environment ?? app.environment.strings.map(ByteString.text), of: instance)
        }
        if app.description.hasSockets {
            environment = sockets.environment(
                environment ?? app.environment.strings.map(ByteString.text), of: app.identifier,
                pid: pid)
        }
        return environment
    }

    // MARK: Gathering

    /// Gathers what the call brought, and the key that a paused instance must have to serve it.
    func gather(
        _ call: Control.LaunchCall, for app: InstalledApp, descriptors: [FileDescriptor],
        requestedAt: Instant
    ) throws(ControlError) -> (LaunchContext, EnvironmentKey) {
        let command = try DesktopLaunch(call, of: app)
        var context = LaunchContext(arguments: command.arguments, requestedAt: requestedAt)
        context.executablePath = command.executablePath
        var key = app.description.environmentKey
        if call.callerEnvironment != nil || !call.environment.isEmpty {
            let environment = withContainer(Self.environment(of: call, app), of: app)
            context.environment = environment
            let texts = environment.compactMap(\.text)
            if texts.count < environment.count, Self.isReadEarly(environment, by: app) {
                context.coldReason = .environmentMismatch
            }
            let pool = PoolEnvironment(
                of: texts, extraNames: app.environment.extraKeyNames,
                runtime: app.environment.runtime, isWhole: app.environment.isWhole)
            let own = (app.environment.pool, app.description.environmentKey)
            if let known = environments.key(for: pool, app.poolOwner, own: own) {
                key = known
            } else {
                context.coldReason = .environmentMismatch
            }
            if core.hasBooted(app.identifier) { context.bootKey = bootKey(of: texts, app) }
            context.differingVariables = differingVariables(pool, key, app)
            // With this variable, no interpreter that has booted elsewhere can serve the launch.
            if let name = app.environment.runtime?.hindrance(in: pool.variables) {
                context.coldReason = .environmentMismatch
                context.differingVariables = [name]
            }
        } else {
            context.bootKey = app.description.bootKey
            context.differingVariables = differingVariables(app.environment.pool, key, app)
        }
        addNotifySocket(to: &context, of: app)
        // What the manifest sets, it sets for every caller.
        if app.command.umask == nil { context.umask = call.umask }
        context.standardStreams = [call.standardInput, call.standardOutput, call.standardError]
            .map { $0.map { descriptors[$0] } }
        let depth = core.depth(of: app.identifier, key)
        inherit(from: call, descriptors, app, depth, &context)
        if depth == .runtime, let runtime = app.environment.runtime, context.coldReason == nil {
            context.refusePaused(for: runtime.obstacles(in: context))
        }
        context.takesTerminal = call.takesTerminal
        context.screenHints = .init(call.orientation, call.sizeClass)
        if app.command.workingDirectory == nil {
            context.workingDirectory = try workingDirectory(of: call, descriptors)
        }
        try context.checkDescriptors()
        if app.description.depth == .window {
            context.leaveOutDirectory(ofHeld: heldPlaces(of: app.identifier))
            context.reasonNotToHold = context.reasonNotToHold(app)
            if context.coldReason == nil {
                context.callerDifferences = context.differencesFromHeld
            }
        }
        return (context, key)
    }

    /// Where the app's held instances have started.
    private func heldPlaces(of app: AppIdentifier) -> [FilePlace?] {
        core.lifecycle.instances(of: app)
            .filter { $0.state == .prewarmed && $0.depth == .window }
            .map { instances[$0.instance]?.pause.startPlace }
    }

    private func bootKey(of environment: [String], _ app: InstalledApp) -> EnvironmentKey? {
        guard let learning = app.program.depth.learning else { return nil }
        let pool = learning.bootPool(of: environment, app)
        return pool == learning.bootPool(of: app.environment.strings, app)
            ? app.description.bootKey : environments.knownKey(for: pool, app.poolOwner)
    }

    /// The variables that keep paused instances from serving the launch: those in which the launch
    /// differs from the paused instance that is most like it.
    private func differingVariables(
        _ pool: PoolEnvironment, _ key: EnvironmentKey, _ app: InstalledApp
    ) -> [String] {
        guard core.coldReason(for: app.identifier, key) == .environmentMismatch
        else { return [] }
        let keys = Set(
            core.lifecycle.instances(of: app.identifier).filter(\.state.isPrewarm)
                .map(\.environmentKey))
        let others = keys.compactMap { other in
            other == app.description.environmentKey
                ? app.environment.pool : environments[other, app.poolOwner]
        }
        let differences = others.map { pool.differingNames(from: $0) }
        return Array((differences.min { $0.count < $1.count } ?? []).prefix(Self.namedVariables))
    }

    /// At most this many variables are named, for people.
    private static let namedVariables = 8

    /// Takes over the caller's descriptors and state. If only a new process can take them over, the
    /// launch is cold.
    private func inherit(
        from call: Control.LaunchCall, _ descriptors: [FileDescriptor], _ app: InstalledApp,
        _ depth: PrewarmDepth, _ context: inout LaunchContext
    ) {
        // In an app with sockets, the numbers from 3 on are those of the sockets.
        if !app.description.hasSockets {
            context.otherDescriptors = call.otherDescriptors.map {
                (number: $0.number, descriptor: descriptors[$0.index])
            }
        }
        let reachesTooFar = context.otherDescriptors.contains { $0.number >= app.channelNumber }
        if reachesTooFar || context.otherDescriptors.count > Self.otherDescriptorsOfPaused {
            context.refusePaused(for: .descriptors)
        }
        guard call.callerState != nil || !call.closedDescriptors.isEmpty else { return }
        var state = InheritedState(call.callerState ?? .init(), of: app)
        for number in call.closedDescriptors where context.standardStreams[number] == nil {
            state.closedDescriptors |= 1 << UInt32(number)
        }
        context.inherited = state
        let paused = pausedStates[app.identifier]
        var wanted = state.asPaused(app)
        // A held program can take nothing over, and need not ignore these signals.
        if depth == .window { wanted.ignoredSignals &= ~PausedState.innerSignals }
        if PausedState.canTakeOver(app) {
            context.inheritedDifferences = paused?.differences(from: wanted, of: app) ?? []
            context.inheritsMoreThanPaused = paused == nil || !context.inheritedDifferences.isEmpty
        }
        if let paused {
            context.refusePaused(for: paused.obstacles(to: state.asPaused(app), of: app))
        }
    }

    /// An order to go has room for at most this many descriptors in addition to the standard ones,
    /// the directory and the strings.
    private static let otherDescriptorsOfPaused = WireFormat.descriptorLimit - 5

    /// The manifest decides where the app may write, whatever its caller's environment says.
    private func withContainer(_ environment: [ByteString], of app: InstalledApp) -> [ByteString] {
        guard app.hasContainer else { return environment }
        let own = dataFolders.environment(of: app.identifier.rawValue)
        let names = own.map { String($0.prefix { $0 != "=" } + "=") }
        return environment.filter { entry in !names.contains { entry.hasPrefix($0) } }
            + own.map(ByteString.text)
    }

    /// True if a variable that is not UTF-8 is one that a paused instance has read already.
    private static func isReadEarly(_ environment: [ByteString], by app: InstalledApp) -> Bool {
        environment.contains { variable in
            guard variable.text == nil, let name = variable.variableName?.text else { return false }
            let variable = PoolEnvironment(
                of: ["\(name)="], extraNames: app.environment.extraKeyNames,
                runtime: app.environment.runtime, isWhole: app.environment.isWhole)
            return !variable.variables.isEmpty
        }
    }

    private func addNotifySocket(to context: inout LaunchContext, of app: InstalledApp) {
        guard app.readyCondition == .notify,
            let path = readiness?.socketPath(of: app.account.user)
        else { return }
        context.environment =
            (context.environment ?? app.environment.strings.map(ByteString.text))
            + [.text("NOTIFY_SOCKET=\(path)")]
    }

    private func workingDirectory(
        of call: Control.LaunchCall, _ descriptors: [FileDescriptor]
    ) throws(ControlError) -> FileDescriptor? {
        if let index = call.workingDirectoryDescriptor { return descriptors[index] }
        guard let path = call.workingDirectory else { return nil }
        do throws(SystemError) {
            return try PathOwners.folder(at: path)
        } catch {
            throw .refused(
                code: "working_directory",
                reason:
                    "\(error.description); name a directory that greenroomd can enter, or pass a "
                    + "descriptor of it")
        }
    }

    /// The session's environment, or the caller's with what the manifest sets for every caller;
    /// then the launch's own additions.
    private static func environment(
        of call: Control.LaunchCall, _ app: InstalledApp
    ) -> [ByteString] {
        let base =
            call.callerEnvironment.map {
                replace($0, with: app.ownEnvironment.map(ByteString.text))
            }
            ?? app.environment.strings.map(ByteString.text)
        return replace(base, with: call.environment.map(\.assignment))
    }

    private static func replace(
        _ base: [ByteString], with additions: [ByteString]
    ) -> [ByteString] {
        if additions.isEmpty { return base }
        // A client may bring a hundred thousand variables of either kind: each is looked at only
        // once.
        let replaced = Set(additions.compactMap(\.variableName))
        return base.filter { entry in
            entry.variableName.map { !replaced.contains($0) } ?? true
        } + additions
    }
}
