internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Where an app's standard output and error go when its client passes none: to the journal under
/// the app's own identifier, or to the daemon's own standard error where there is no journal. The
/// daemon's standard error may be root's terminal, so apps of other users never get it.
@LoopActor
final class AppOutput: InstanceFiles {
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
        instances: InstanceTable, directory: String, hasJournal: Bool, calls: DetachedCalls,
        disposer: Disposer, log: Log
    ) {
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
        pipes[instance] = try OutputPipe(
            at: path, reading: reading, of: app.identifier,
            disposer.stranger(app.account.user), passingTo: target, calls: calls
        ) { [unowned self] in pipes[instance] = nil }
        return writing
    }

    /// Passes on the output of an instance that a former supervisor started.
    ///
    /// - Parameter app: nil if it is not installed any more.
    func takeUp(_ instance: Instance, of app: InstalledApp?) {
        let (identifier, path) = (instance.identifier, path(of: instance.identifier))
        var status = stat()
        guard hasOlderPipes, pipes[identifier] == nil, unsafe lstat(path, &status) == 0,
            status.st_mode & S_IFMT == S_IFIFO
        else { return }
        do throws(SystemdError) {
            pipes[identifier] = try OutputPipe(
                at: path, reading: nil, of: instance.app,
                disposer.stranger(app?.account.user ?? .max),
                passingTo: app.flatMap { target(of: $0) }, calls: calls
            ) { [unowned self] in pipes[identifier] = nil }
        } catch {
            log.failed("watching the output of \(instance.app)", error)
        }
    }

    /// Calls the body whenever the instance has printed something, and now if it has already.
    func onOutput(of instance: InstanceIdentifier, _ body: @escaping () -> Void) {
        guard let pipe = pipes[instance] else { return }
        pipe.onOutput = body
        if pipe.hasOutput { body() }
    }

    private func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    func remove(_ instance: InstanceIdentifier) {
        guard hasOlderPipes || pipes[instance] != nil else { return }
        _ = unsafe unlink(path(of: instance))
        pipes[instance]?.onOutput = nil
    }
}
