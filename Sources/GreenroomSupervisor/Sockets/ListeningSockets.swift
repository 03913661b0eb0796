internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The listening sockets that the daemon holds for apps. They are made when a manifest is loaded,
/// watched while no instance of the app can accept, and passed on at each launch from descriptor 3
/// (sd_listen_fds(3)).
///
/// The spawner keeps a duplicate of each, so that connections that wait in a socket are not lost
/// while another supervisor takes over. It also opens network sockets (`NetworkSockets`), because
/// the supervisor's unit forbids the supervisor to have any. All instances of an app have the same
/// sockets; a paused instance has them from its birth, at the numbers where main will look for
/// them.
@LoopActor
final class ListeningSockets {
    private let core: Core
    private let instances: InstanceTable
    private let log: Log
    /// Keeps a socket beyond this supervisor's end, until it is told to drop it.
    private let spawner: CurrentSpawner
    private let networks: NetworkSockets
    private var table: [AppIdentifier: [OpenSocket]] = [:]
    /// Apps whose sockets are watched. The list of an app is empty if somebody connected while
    /// there was no spawner to launch the app.
    private var sources: [AppIdentifier: [EventSource]] = [:]
    /// Sockets of an earlier supervisor that no app has claimed yet.
    private var unclaimed: [String: FileDescriptor] = [:]

    private final class Awaited: InstancePart {
        var readiness: RepeatedLook?
    }

    private struct OpenSocket {
        var socket: SocketSpecification
        var name: String
        var descriptor: FileDescriptor
    }

    init(core: Core, instances: InstanceTable, spawner: CurrentSpawner, log: Log) {
        self.core = core
        self.instances = instances
        self.spawner = spawner
        self.log = log
        networks = NetworkSockets(spawner: spawner)
    }

    // MARK: Coming and going

    /// Offers the sockets of an earlier supervisor to the apps that `install` installs, and drops
    /// those that no app has claimed.
    func adopt(_ kept: [String: FileDescriptor], while install: () -> Void) {
        unclaimed = kept
        install()
        for name in unclaimed.keys { spawner.send(.drop(name: name)) }
        unclaimed = [:]
    }

    /// Makes the sockets that an app's manifest asks for, and keeps those that the app has already.
    /// A socket that cannot be made is reported and left out; the app can be launched all the same.
    func update(_ app: InstalledApp) -> [Control.ManifestFault] {
        var old = Dictionary(
            (table[app.identifier] ?? []).map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first })
        guard !old.isEmpty || !app.sockets.isEmpty else { return [] }
        let isWatched = sources.removeValue(forKey: app.identifier) != nil
        var now: [OpenSocket] = []
        var faults: [Control.ManifestFault] = []
        for socket in app.sockets {
            let name = Self.name(of: socket, app)
            do throws(SystemError) {
                let descriptor: FileDescriptor
                // A socket that cannot be adjusted is closed, so that it can be made anew later.
                if let own = old[name] {
                    descriptor = own.descriptor
                    if own.socket != socket { try socket.adjust(descriptor) }
                    old[name] = nil
                } else if let kept = unclaimed[name] {
                    descriptor = kept
                    try socket.adjust(descriptor)
                    unclaimed[name] = nil
                } else if socket.isOfNetwork {
                    descriptor = try networks.take(name, socket)
                } else {
                    descriptor = try socket.open()
                    spawner.send(.keep(name: name, descriptor))
                }
                now.append(OpenSocket(socket: socket, name: name, descriptor: descriptor))
            } catch {
                let fault = Self.fault(of: socket, app, error)
                log.say(.error, "\(fault)")
                faults.append(fault)
            }
        }
        for former in table[app.identifier] ?? [] where old[former.name] != nil { close(former) }
        table[app.identifier] = now.isEmpty ? nil : now
        if isWatched { watch(app.identifier) }
        return faults
    }

    // MARK: Sockets of networks

    /// Has the spawner open the network sockets that these apps, which are about to be installed,
    /// do not have.
    ///
    /// - Parameters:
    ///   - installed: apps that stay installed. Sockets that no app wants any more are closed
    ///     first, because another app may want their addresses now.
    ///   - then: called when the spawner has answered for all; at once if there are none.
    func prepare(
        for apps: [InstalledApp], beside installed: [InstalledApp], then: @escaping () -> Void
    ) {
        networks.order(missing(for: apps, beside: installed), then: then)
    }

    /// Does the same as `prepare` at the start of the daemon, when the loop does not run yet.
    func prepareAtOnce(for apps: [InstalledApp]) {
        networks.orderAtOnce(missing(for: apps, beside: []))
    }

    /// Closes the sockets that no app has taken. Called after the apps have taken theirs.
    func dropUntaken() { networks.dropUntaken() }

    func opened(_ name: String, _ result: Result<FileDescriptor, SystemError>) {
        networks.answered(name, result)
    }

    /// The former spawner will answer nothing any more.
    func spawnerIsAnother() { networks.giveUp() }

    private func missing(
        for apps: [InstalledApp], beside installed: [InstalledApp]
    ) -> [SocketOrder] {
        let all = apps + installed
        let wanted = Set(all.flatMap { app in app.sockets.map { Self.name(of: $0, app) } })
        for (app, sockets) in table {
            let left = sockets.filter { !$0.socket.isOfNetwork || wanted.contains($0.name) }
            guard left.count < sockets.count else { continue }
            for former in sockets where !left.contains(where: { $0.name == former.name }) {
                close(former)
            }
            table[app] = left.isEmpty ? nil : left
            if sources[app] != nil { watch(app) }
        }
        return all.flatMap { orders(for: $0) }
    }

    /// The orders for the network sockets that the app does not have.
    private func orders(for app: InstalledApp, isTrial: Bool = false) -> [SocketOrder] {
        let own = Set((table[app.identifier] ?? []).map(\.name))
        var orders: [SocketOrder] = []
        for socket in app.sockets where socket.isOfNetwork {
            let name = Self.name(of: socket, app)
            guard !own.contains(name), unclaimed[name] == nil else { continue }
            orders.append(socket.order(isTrial ? Self.trial(name) : name, isKept: !isTrial))
        }
        return orders
    }

    /// The names of sockets that are opened only to see whether they can be.
    private static func trial(_ name: String) -> String { "trial of " + name }

    /// Has the spawner try to open the network sockets of apps that are not installed.
    func prepareTrial(of apps: [InstalledApp], then: @escaping () -> Void) {
        networks.order(apps.flatMap { orders(for: $0, isTrial: true) }, then: then)
    }

    /// Why sockets of apps that are not installed yet could not be made. Makes each socket that its
    /// app does not have, and closes all of them at the end, since two of the apps may want the
    /// same one. For network sockets, it uses the answers that `prepareTrial` has got.
    func objections(to apps: [InstalledApp]) -> [Control.ManifestFault] {
        var faults: [Control.ManifestFault] = []
        var trials: [(socket: SocketSpecification, descriptor: FileDescriptor)] = []
        for app in apps {
            let own = Set((table[app.identifier] ?? []).map(\.name))
            for socket in app.sockets {
                let name = Self.name(of: socket, app)
                if own.contains(name) { continue }
                do throws(SystemError) {
                    if socket.isOfNetwork {
                        _ = try networks.take(Self.trial(name), socket)
                    } else {
                        trials.append((socket, try socket.open()))
                    }
                } catch {
                    faults.append(Self.fault(of: socket, app, error))
                }
            }
        }
        for trial in trials { trial.socket.remove() }
        return faults
    }

    private static func name(of socket: SocketSpecification, _ app: InstalledApp) -> String {
        "\(app.identifier) \(socket.kind) \(socket.address)"
    }

    private static func fault(
        of socket: SocketSpecification, _ app: InstalledApp, _ error: SystemError
    ) -> Control.ManifestFault {
        .init(
            file: app.manifestPath, line: 0, column: 0,
            message: "listening on \(socket.address): \(error)")
    }

    /// Whether some of the sockets that the manifest asks for could not be made; another try may
    /// succeed.
    func lacks(_ app: InstalledApp) -> Bool {
        (table[app.identifier]?.count ?? 0) < app.sockets.count
    }

    func forget(_ app: AppIdentifier) {
        ignore(app)
        for open in table.removeValue(forKey: app) ?? [] { close(open) }
    }

    private func close(_ open: OpenSocket) {
        spawner.send(.drop(name: open.name))
        if open.socket.removesOnStop { open.socket.remove() }
    }

    /// Gives all sockets to a spawner that knows none of them.
    func keepAll() {
        for open in table.values.joined() {
            spawner.send(.keep(name: open.name, open.descriptor))
        }
    }

    // MARK: Launches

    /// The descriptors that are passed to an instance, from number 3 on.
    func passed(to app: AppIdentifier) -> [SpawnSpecification.PassedDescriptor] {
        (table[app] ?? []).enumerated().map { .init($1.descriptor, at: 3 + Int32($0)) }
    }

    /// The environment of an instance with sockets; LISTEN_PID comes last.
    func environment(
        _ environment: [ByteString], of app: AppIdentifier, pid: Int32?
    ) -> [ByteString] {
        guard let sockets = table[app] else { return environment }
        let own = ["LISTEN_FDS=", "LISTEN_FDNAMES=", "LISTEN_PID="]
        let names = sockets.map(\.socket.name).joined(separator: ":")
        return environment.filter { entry in !own.contains { entry.hasPrefix($0) } } + [
            .text("LISTEN_FDS=\(sockets.count)"), .text("LISTEN_FDNAMES=\(names)"),
            .text(pid.map { "LISTEN_PID=\($0)" } ?? SpawnRequest.listenPidPlaceholder),
        ]
    }

    func has(_ app: AppIdentifier) -> Bool { table[app] != nil }

    // MARK: Connections

    /// Watches the app's sockets until somebody connects, once.
    func watch(_ app: AppIdentifier) {
        do throws(SystemdError) {
            var watching: [EventSource] = []
            for open in table[app] ?? [] {
                watching.append(
                    try LoopActor.io(open.descriptor.rawValue, .readable) { [unowned self] _ in
                        arrived(app)
                    })
            }
            sources[app] = watching
        } catch {
            log.failed("watching the sockets of \(app)", error)
        }
    }

    func ignore(_ app: AppIdentifier) { sources[app] = nil }

    /// Connections that came while there was no spawner are noticed now.
    func watchAgain() {
        for (app, watching) in sources where watching.isEmpty { watch(app) }
    }

    private func arrived(_ app: AppIdentifier) {
        guard sources.removeValue(forKey: app) != nil else { return }
        // There is no spawner, so every launch would fail. The connection waits in the socket.
        guard spawner.takesOrders else { return sources[app] = [] }
        core.handle(.connectionArrived(app))
    }

    /// Finds out whether somebody is connected to the instance, or waits to be.
    func inspectConnections(of identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        let descriptors = table[instance.app]?.map(\.descriptor) ?? []
        let isWaiting = descriptors.contains {
            (try? $0.waitUntilReadable(milliseconds: 0)) == true
        }
        let isInUse =
            isWaiting
            || AcceptedConnections.exist(
                in: Array(((try? instance.cgroup?.processes()) ?? [instance.pid]).prefix(64)),
                acceptedOn: descriptors)
        core.handle(.connectionsInspected(identifier, isInUse: isInUse))
    }

    // MARK: Ready

    /// If the daemon holds the program's sockets, they listen already: whoever connects is served
    /// once the program accepts.
    func awaitListening(_ instance: Instance) {
        let identifier = instance.identifier
        guard core.lifecycle.instance(identifier)?.state == .launching else { return }
        if has(instance.app) { return core.handle(.becameReady(identifier)) }
        guard let awaited = instances.part(Awaited.self, of: identifier) else { return }
        let looking = RepeatedLook.forListening(of: instance) {
            [unowned self, unowned awaited] isListening in
            if isListening { core.handle(.becameReady(identifier)) }
            let isOver = core.lifecycle.instance(identifier)?.state != .launching
            if isOver { awaited.readiness = nil }
            return isOver
        }
        awaited.readiness = looking
        looking.look()
    }
}
