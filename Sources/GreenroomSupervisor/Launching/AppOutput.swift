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
    /// True if the directory may hold files that a former supervisor made.
    private let hasOlderFiles: Bool
    private let instances: InstanceTable
    private let log: Log

    private final class OutputFile: InstancePart {
        var isMade = false
    }

    /// - Parameter directory: for the output files of apps whose first output makes them ready.
    init(instances: InstanceTable, directory: String, hasJournal: Bool, log: Log) {
        self.instances = instances
        self.directory = directory
        self.hasJournal = hasJournal
        self.log = log
        let copy = fcntl(2, F_DUPFD_CLOEXEC, 3)
        standardError = copy >= 0 ? FileDescriptor(owning: copy) : nil
        // Only an empty directory can be removed.
        hasOlderFiles = unsafe rmdir(directory) != 0 && errno != ENOENT
        unsafe mkdir(directory, 0o700)
        instances.add(self)
    }

    /// A descriptor for both streams, or nil for /dev/null.
    func stream(for app: InstalledApp, instance: InstanceIdentifier) -> FileDescriptor? {
        if app.description.readyCondition == .firstOutput {
            instances.part(OutputFile.self, of: instance)?.isMade = true
            return try? FileDescriptor.open(
                path(of: instance), O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, mode: 0o600)
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
        return app.restrictions.confinement == nil
            || standardError.map { isatty($0.rawValue) == 0 } ?? false
    }

    // MARK: First output

    /// The file that collects the output of an instance whose first output makes it ready. It is
    /// watched for its first byte. It is not a pipe: whoever writes to a pipe may hold its lock for
    /// as long as a file system of its own likes, and reading or opening the pipe would wait for it.
    func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    func remove(_ instance: InstanceIdentifier) {
        let isMade = instances.known(OutputFile.self, of: instance)?.isMade ?? false
        guard isMade || hasOlderFiles else { return }
        _ = unsafe unlink(path(of: instance))
    }
}
