internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Where an app's standard output and error go when its client passes none: to the journal under
/// the app's own identifier, or to the daemon's own standard error where there is no journal.
@LoopActor
final class AppOutput: InstanceFiles {
    private let directory: String
    private let hasJournal: Bool
    private let standardError: FileDescriptor?
    /// True if the directory may hold files that a former supervisor made.
    private let hasOlderFiles: Bool
    private let instances: InstanceTable

    private final class OutputFile: InstancePart {
        var isMade = false
    }

    /// - Parameter directory: for the output files of apps whose first output makes them ready.
    init(instances: InstanceTable, directory: String, hasJournal: Bool) {
        self.instances = instances
        self.directory = directory
        self.hasJournal = hasJournal
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
        if hasJournal, let number = try? Journal.stream(identifier: app.identifier.rawValue) {
            return FileDescriptor(owning: number)
        }
        return standardError
    }

    /// The file that collects the output of an instance whose first output makes it ready. It is
    /// watched for its first byte.
    func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    func remove(_ instance: InstanceIdentifier) {
        let isMade = instances.known(OutputFile.self, of: instance)?.isMade ?? false
        guard isMade || hasOlderFiles else { return }
        _ = unsafe unlink(path(of: instance))
    }
}
