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
    private let instances: InstanceTable
    private let log: Log

    private final class OutputPipe: InstancePart {
        var isMade = false
    }

    /// - Parameter directory: for the pipes of apps whose first output makes them ready.
    init(instances: InstanceTable, directory: String, hasJournal: Bool, log: Log) {
        self.instances = instances
        self.directory = directory
        self.hasJournal = hasJournal
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
        if app.description.readyCondition == .firstOutput {
            instances.part(OutputPipe.self, of: instance)?.isMade = true
            return makePipe(path(of: instance))
        }
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
    /// anyway gets them.
    private func mayUseOwn(_ app: InstalledApp) -> Bool {
        guard app.account.user == geteuid() else { return false }
        return app.confinement == nil || standardError.map { isatty($0.rawValue) == 0 } ?? false
    }

    // MARK: First output

    /// A pipe, so that what the app prints takes no more memory than a pipe does. The app has the
    /// reading end as well: while no supervisor runs, the app waits when the pipe is full, and gets
    /// no SIGPIPE.
    private func makePipe(_ path: String) -> FileDescriptor? {
        _ = unsafe unlink(path)
        guard unsafe mkfifo(path, 0o600) == 0 else { return nil }
        return try? FileDescriptor.open(path, O_RDWR)
    }

    /// The pipe that the instance's output goes to; nil if the instance has none. The caller reads
    /// the pipe for as long as the instance runs.
    func pipe(of instance: InstanceIdentifier) -> FileDescriptor? {
        guard hasPipe(instance) else { return nil }
        // With a writing end open here, reading never reports the end of input.
        return try? FileDescriptor.open(path(of: instance), O_RDWR | O_NONBLOCK)
    }

    private func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    private func hasPipe(_ instance: InstanceIdentifier) -> Bool {
        hasOlderPipes || instances.known(OutputPipe.self, of: instance)?.isMade ?? false
    }

    func remove(_ instance: InstanceIdentifier) {
        if hasPipe(instance) { _ = unsafe unlink(path(of: instance)) }
    }
}
