internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The credentials of each instance: a directory with one file for each credential, as systemd lays
/// them out (systemd.exec(5), LoadCredential=). Only the app's user can read them.
///
///     RUNTIME/credentials/INSTANCE/NAME    0400 in a directory 0500
///
/// The files belong to the daemon's user. An app of another user is let in by an access control
/// list (acl(5)): it can read the files, but neither change nor replace them. (An app of the
/// daemon's own user could, as under a user's systemd. The file that apps made with the SDK get is
/// sealed against everybody.)
///
/// A directory is made when the instance is launched, never for a paused instance and never while
/// the user's session is locked. It is removed with the instance. If there is a directory, the
/// credentials have been handed over; a later supervisor sees that, too.
@LoopActor
final class CredentialDirectories: InstanceFiles {
    private let root: String

    static let environmentName = "CREDENTIALS_DIRECTORY"

    /// True if the root exists, made by this or a former supervisor.
    private var hasRoot: Bool

    init(instances: InstanceTable, runtimeDirectory: String) {
        root = runtimeDirectory + "/credentials"
        hasRoot = unsafe access(root, F_OK) == 0
        instances.add(self)
    }

    func path(of instance: InstanceIdentifier) -> String { "\(root)/\(instance)" }

    func has(_ instance: InstanceIdentifier) -> Bool {
        unsafe access(path(of: instance), F_OK) == 0
    }

    /// The environment, with the path of the instance's credentials.
    func environment(
        _ environment: [ByteString], of instance: InstanceIdentifier
    ) -> [ByteString] {
        let name = Self.environmentName + "="
        return environment.filter { !$0.hasPrefix(name) } + [.text(name + path(of: instance))]
    }

    // MARK: Making

    /// - Throws: what could not be made; in that case the directory is removed.
    func make(
        _ credentials: CredentialSet, for instance: InstanceIdentifier, of app: InstalledApp
    ) throws(SystemError) {
        remove(instance)
        unsafe mkdir(root, 0o711)
        hasRoot = true
        // Everybody may pass through and nobody else sees the names, whatever our umask is.
        unsafe chmod(root, 0o711)
        try systemCallOn(path(of: instance)) { unsafe mkdir($0, 0o700) }
        do throws(SystemError) {
            try fill(try directory(path(of: instance)), with: credentials, for: app)
        } catch {
            remove(instance)
            throw error
        }
    }

    private func fill(
        _ directory: FileDescriptor, with credentials: CredentialSet, for app: InstalledApp
    ) throws(SystemError) {
        for (name, value) in credentials.all {
            let file = try directory.open(
                name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try Self.write(value, to: file)
            try give(file, mode: 0o400, to: app)
        }
        try give(directory, mode: 0o500, to: app)
    }

    private func directory(_ path: String) throws(SystemError) -> FileDescriptor {
        try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    private static func write(_ bytes: [UInt8], to file: FileDescriptor) throws(SystemError) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(
                    file.rawValue, $0.baseAddress! + offset, $0.count - offset)
            }
            guard count > 0 else { throw SystemError(code: errno, call: "write") }
            offset += count
        }
    }

    /// Lets the app's user read the file. If the file system has no access control lists, the file
    /// becomes that user's own. (The mode is set first: afterwards we may not change it.)
    private func give(
        _ file: FileDescriptor, mode: mode_t, to app: InstalledApp
    ) throws(SystemError) {
        guard fchmod(file.rawValue, mode) == 0 else {
            throw SystemError(code: errno, call: "fchmod")
        }
        guard app.identity.changesUser, app.account.user != getuid() else { return }
        do throws(SystemError) {
            try file.share(mode >> 6, withUser: app.account.user)
        } catch {
            guard fchown(file.rawValue, app.account.user, app.account.group) == 0 else {
                throw SystemError(code: errno, call: "fchown")
            }
        }
    }

    private func systemCallOn(
        _ path: String, _ call: (String) -> CInt
    ) throws(SystemError) {
        guard call(path) == 0 else { throw SystemError(code: errno, call: "mkdir", subject: path) }
    }

    // MARK: Removing

    func remove(_ instance: InstanceIdentifier) {
        guard hasRoot else { return }
        let path = path(of: instance)
        guard let directory = try? directory(path) else { return }
        // Without CAP_DAC_OVERRIDE, even root must own what it changes.
        _ = fchown(directory.rawValue, getuid(), getgid())
        fchmod(directory.rawValue, 0o700)
        for name in Self.names(in: path) { unsafe unlinkat(directory.rawValue, name, 0) }
        unsafe rmdir(path)
    }

    /// After a restart, removes the directories of instances that are gone.
    func removeAll(but isKnown: (InstanceIdentifier) -> Bool) {
        for name in Self.names(in: root) {
            guard let number = UInt64(name) else { continue }
            let instance = InstanceIdentifier(number)
            if !isKnown(instance) { remove(instance) }
        }
    }

    private static func names(in path: String) -> [String] {
        (try? FolderContents.names(in: path)) ?? []
    }
}
