internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Where an app's standard output and error go when its client passes none: to the journal under
/// the app's own identifier, or to the daemon's own standard error where there is no journal. The
/// daemon's standard error may be root's terminal, so apps of other users never get it.
///
/// An instance that is ready when it has printed something prints to a pipe.
@LoopActor
final class AppOutput: InstanceFiles {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let directory: String
    private let hasJournal: Bool
    private let standardError: FileDescriptor?
    /// True if the directory may hold pipes that a former supervisor made.
    private let hasOlderPipes: Bool
    private let calls: DetachedCalls
    private let disposer: Disposer
    private let log: Log
    /// The pipes of instances whose first output makes them ready. Processes that an instance left
    /// may still print after it was released.
    private var pipes: [InstanceIdentifier: OutputPipe] = [:]

    /// - Parameter directory: for the pipes of instances whose first output makes them ready.
    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, directory: String,
        hasJournal: Bool, calls: DetachedCalls, disposer: Disposer, log: Log
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.directory = directory
        self.hasJournal = hasJournal
        self.calls = calls
        self.disposer = disposer
        self.log = log
        let copy = fcntl(2, F_DUPFD_CLOEXEC, 3)
        standardError = copy >= 0 ? FileDescriptor(owning: copy) : nil
        // Only an empty directory can be removed.
        hasOlderPipes = unsafe rmdir(directory) != 0 && errno != ENOENT
        unsafe mkdir(directory, 0o700)
        instances.add(self)
    }

    /// A descriptor for both streams, or nil for /dev/null.
    func stream(for app: InstalledApp, instance: InstanceIdentifier) -> FileDescriptor? {
        let target = target(of: app)
        guard app.description.readyCondition == .firstOutput else { return target }
        do {
            return try makePipe(for: instance, of: app, passingTo: target)
        } catch {
            log.failed("making the pipe for the output of \(app.identifier)", error)
            return target
        }
    }

    private func target(of app: InstalledApp) -> FileDescriptor? {
        let mayUseOwn = mayUseOwn(app)
        if hasJournal || !mayUseOwn,
            let number = try? Journal.stream(identifier: app.identifier.rawValue)
        {
            return FileDescriptor(owning: number)
        }
        if mayUseOwn { return standardError }
        log.sayOnce(
            "there is no journal: what apps of other users and confined apps print is lost, unless "
                + "their clients take it (greenroomctl run)")
        return nil
    }

    /// Whether an app gets the daemon's own standard error. An app that has a terminal can read
    /// what is typed there, and an app that has a file can fill it: only an app that may do so
    /// anyway gets the daemon's.
    private func mayUseOwn(_ app: InstalledApp) -> Bool {
        guard app.account.user == geteuid() else { return false }
        return app.restrictions.confinement == nil
            || standardError.map { isatty($0.rawValue) == 0 } ?? false
    }

    // MARK: First output

    /// Returns the app's end. The app can read from it as well: it gets no SIGPIPE while no
    /// supervisor runs, but waits when the pipe is full.
    private func makePipe(
        for instance: InstanceIdentifier, of app: InstalledApp, passingTo target: FileDescriptor?
    ) throws -> FileDescriptor {
        let path = path(of: instance)
        _ = unsafe unlink(path)
        if unsafe mkfifo(path, 0o600) != 0 {
            throw SystemError(code: errno, call: "mkfifo", subject: path)
        }
        // Nobody else has the pipe yet, so opening it waits for nobody.
        let reading = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
        let writing = try FileDescriptor.open(path, O_RDWR)
        try pass(
            instance, app.identifier, at: path, reading: reading,
            disposer.stranger(app.account.user), to: target)
        return writing
    }

    /// Passes on the output of an instance that a former supervisor started.
    ///
    /// - Parameter app: nil if it is not installed any more.
    func adopt(_ instance: Instance, of app: InstalledApp?) {
        let (identifier, path) = (instance.identifier, path(of: instance.identifier))
        var status = stat()
        guard hasOlderPipes, pipes[identifier] == nil, unsafe lstat(path, &status) == 0,
            status.st_mode & S_IFMT == S_IFIFO
        else { return }
        do throws(SystemdError) {
            try pass(
                identifier, instance.app, at: path, reading: nil,
                disposer.stranger(app?.account.user ?? .max), to: app.flatMap { target(of: $0) })
        } catch {
            log.failed("watching the output of \(instance.app)", error)
        }
    }

    /// Passes on what the instance prints, until its pipe is empty for ever.
    private func pass(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, at path: String,
        reading: FileDescriptor?, _ stranger: Stranger, to target: FileDescriptor?
    ) throws(SystemdError) {
        pipes[instance] = try OutputPipe(
            at: path, reading: reading, of: app, stranger, passingTo: target, calls: calls,
            onOutput: { [unowned self] in printed(instance, app) },
            onEnd: { [unowned self] in pipes[instance] = nil })
    }

    /// A cold launch is known now. Its program may have printed something before the spawner's
    /// report of it arrived.
    func hearEarly(_ instance: Instance) {
        guard pipes[instance.identifier]?.hasOutput == true else { return }
        printed(instance.identifier, instance.app)
    }

    /// The first output makes a launched instance ready. What a constructor wrote before the pause
    /// does not count: the launch comes later. While the process is not known, no answer to the
    /// launch could name it.
    private func printed(_ instance: InstanceIdentifier, _ app: AppIdentifier) {
        guard instances[instance] != nil,
            core.lifecycle.instance(instance)?.state == .launching,
            catalog[app]?.readyCondition == .firstOutput
        else { return }
        core.handle(.becameReady(instance))
    }

    private func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    func remove(_ instance: InstanceIdentifier) {
        guard hasOlderPipes || pipes[instance] != nil else { return }
        _ = unsafe unlink(path(of: instance))
    }
}
