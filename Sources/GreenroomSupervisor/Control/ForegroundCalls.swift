internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The reports of shells about the foreground. A shell is a connection: its end withdraws what was
/// reported on it. Nobody, not even an administrator, may report about another user's apps: only
/// that user's own shells know the displays of these apps.
@LoopActor
final class ForegroundCalls {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let authorization: Authorization
    /// The connections that have reported something.
    private var shells: Set<UInt64> = []

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, authorization: Authorization
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.authorization = authorization
    }

    func report(
        _ front: Control.Front?, _ connection: ControlConnection
    ) throws(ControlError) {
        let target = try target(front, connection.peer)
        shells.insert(connection.identifier)
        core.handle(
            .foregroundReported(
                ShellIdentifier(connection.identifier),
                ForegroundReport(user: connection.peer.user, front: target)))
        connection.reply(ControlReply.foreground(foreground(target)))
    }

    func left(_ connection: ControlConnection) {
        guard shells.remove(connection.identifier) != nil else { return }
        core.handle(.foregroundReported(ShellIdentifier(connection.identifier), nil))
    }

    private func target(_ front: Control.Front?, _ peer: Peer) throws(ControlError) -> Target? {
        switch front {
        case .app(let name):
            let app = try authorization.find(name, .observe, peer)
            try requireOwn(app.identifier, peer)
            return .app(app.identifier)
        case .instance(let number):
            try authorization.require(.observe, of: .instance(number), peer)
            let identifier = InstanceIdentifier(number)
            if let record = core.lifecycle.instance(identifier) {
                try requireOwn(record.app, peer)
            }
            return .instance(identifier)
        // A shell reports every process that has a window. It must not learn which of them belong
        // to other users' apps, so these are treated like unknown processes.
        case .process(let process):
            guard let identifier = instance(ofProcess: process),
                let record = core.lifecycle.instance(identifier), isOwn(record.app, peer)
            else { return nil }
            return .instance(identifier)
        case nil: return nil
        }
    }

    /// A window may appear before the spawner has reported its process. Then the name of the
    /// cgroup, which the spawner made, tells which instance the process belongs to.
    private func instance(ofProcess process: Int32) -> InstanceIdentifier? {
        switch try? instances.surroundings(ofProcess: process) {
        case .instance(let instance): instance.identifier
        case .unknownCgroup(let name):
            name.split(separator: "-").last.flatMap { UInt64($0) }.map(InstanceIdentifier.init)
        case .elsewhere, .unknown, nil: nil
        }
    }

    private func isOwn(_ app: AppIdentifier, _ peer: Peer) -> Bool {
        catalog.owner(of: app)?.user == peer.user
    }

    private func requireOwn(_ app: AppIdentifier, _ peer: Peer) throws(ControlError) {
        guard !isOwn(app, peer) else { return }
        let owner = catalog.owner(of: app)?.name ?? "its user"
        throw .permissionDenied(
            needed: "user \(owner): shells report about the apps of their own user alone")
    }

    private func foreground(_ target: Target?) -> Control.Foreground {
        switch target {
        case .app(let app): .init(app: app.rawValue)
        case .instance(let id):
            .init(app: core.lifecycle.instance(id)?.app.rawValue, instance: id.rawValue)
        case nil: .init()
        }
    }
}
