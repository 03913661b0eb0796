internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Hears what launches have imported, and adds it to the app's list. The hook in an interpreter
/// sends that when its program ends (`GREENROOM_RECORD`), to a socket of the app's user.
@LoopActor
final class ImportRecords {
    private final class Recorded: InstancePart {
        /// Whether the launch has imported something that is to be inspected when it has ended.
        var hasNews = false
    }

    /// In bytes; the hook never sends a longer record.
    private static let byteLimit = 64 << 10

    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let lists: ImportLists
    private let directory: String
    private let log: Log
    private let disposer: Disposer
    private var sockets: [UInt32: UserSocket] = [:]

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, lists: ImportLists,
        directory: String, log: Log, disposer: Disposer
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.lists = lists
        self.directory = directory
        self.log = log
        self.disposer = disposer
    }

    /// Whether the launch of this instance, which has ended, has imported something that is to be
    /// inspected. The loop may hear of the end before it looks at the socket, so what waits there is
    /// read now.
    func hasNews(of record: InstanceRecord) -> Bool {
        guard record.depth == .runtime, record.launchKind == .prewarmed else { return false }
        if let user = catalog[record.app]?.account.user { sockets[user]?.drain() }
        return instances.known(Recorded.self, of: record.instance)?.hasNews ?? false
    }

    /// Forgets what running instances of the app have imported.
    func forget(_ app: AppIdentifier) {
        for (instance, recorded) in instances.all(Recorded.self)
        where core.lifecycle.instance(instance)?.app == app {
            recorded.hasNews = false
        }
    }

    /// Where an instance is to send what its launch imports; nil if nobody wants to know.
    func socketPath(for app: InstalledApp) -> String? {
        guard let learning = app.program.depth.learning,
            lists.wantsRecord(of: app.identifier, learning.basis)
        else { return nil }
        let user = app.account.user
        let path = "\(directory)/\(user)"
        if sockets[user] != nil { return path }
        do {
            try UserSocket.makeDirectory(directory)
            // It is read before the report that the process has ended.
            sockets[user] = try UserSocket(
                boundAt: path, of: user, byteLimit: Self.byteLimit, disposer: disposer,
                priority: LoopPriority.importRecords
            ) { [unowned self] in received($0, from: $1, of: user) }
            return path
        } catch {
            log.failed("listening for the imports of user \(user)'s apps", error)
            return nil
        }
    }

    /// Only the main process of a launch from the pool counts.
    private func received(_ text: String, from sender: Credentials, of user: UInt32) {
        guard let instance = instances.instance(ofProcess: sender.pid), instance.pid == sender.pid,
            let record = core.lifecycle.instance(instance.identifier),
            record.depth == .runtime, record.launchKind == .prewarmed,
            let app = catalog[instance.app], app.account.user == user,
            app.description.generation == record.generation
        else { return }
        note(LearnedImports.names(inRecord: text), of: app, instance.identifier)
    }

    private func note(
        _ names: [String], of app: InstalledApp, _ instance: InstanceIdentifier
    ) {
        guard let learning = app.program.depth.learning,
            lists.add(
                names, of: app.identifier, learning.basis,
                isBeginning: app.program.depth.start?.runtime.importsInOrder == true)
        else { return }
        instances.part(Recorded.self, of: instance)?.hasNews = true
    }
}
