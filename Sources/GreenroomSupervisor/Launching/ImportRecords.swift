internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Hears what launches have imported. The hook in an interpreter sends that when its program ends
/// (`GREENROOM_RECORD`), to a socket of the app's user.
@LoopActor
final class ImportRecords {
    /// What one launch has imported.
    struct Record {
        let instance: InstanceIdentifier
        let app: AppIdentifier
        let environmentKey: EnvironmentKey
        let names: [String]
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
    private var heard: ((Record) -> Void)?

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

    /// Calls back with each record from now on.
    func listen(_ heard: @escaping (Record) -> Void) { self.heard = heard }

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
        heard?(
            Record(
                instance: instance.identifier, app: instance.app,
                environmentKey: record.environmentKey,
                names: LearnedImports.names(inRecord: text)))
    }
}
