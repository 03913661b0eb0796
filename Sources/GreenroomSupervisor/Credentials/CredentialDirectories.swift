internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The credentials of each instance: a directory with a file for each, which only the app's user can
/// read, as systemd lays them out (systemd.exec(5), LoadCredential=).
///
///     RUNTIME/credentials/INSTANCE/NAME    0400 in a directory 0500
///
/// They stay ours, and an app of another user gets at them by an access control list (acl(5)): it can
/// read them, and neither change nor replace them. (One of our own user could, as under a user's systemd;
/// what is sealed against everybody is the file that apps made with the SDK get.)
///
/// Made when the instance is launched, never for a paused one and never while its user's session is
/// locked; gone with the instance. What there is a directory of has been handed over: so another
/// supervisor knows it too.
@LoopActor
final class CredentialDirectories: InstanceFiles {
    private let root: String

    static let environmentName = "CREDENTIALS_DIRECTORY"

    /// The root is there, made by us or by a former supervisor.
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

    /// The app's environment with the place of its credentials.
    func environment(
        _ environment: [ByteString], of instance: InstanceIdentifier
    ) -> [ByteString] {
        let name = Self.environmentName + "="
        return environment.filter { !$0.hasPrefix(name) } + [.text(name + path(of: instance))]
    }

    // MARK: Making

    /// - Throws: what could not be made; nothing is left of it then.
    func make(
        _ credentials: CredentialSet, for instance: InstanceIdentifier, of app: InstalledApp
    ) throws(SystemError) {
        remove(instance)
        unsafe mkdir(root, 0o711)
        hasRoot = true
        // Whatever our umask is: everybody may pass through, and nobody sees the names.
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

    /// Where the file system knows no such lists, it becomes the app's. (The mode first: afterwards it is
    /// not ours to change.)
    private func give(
        _ file: FileDescriptor, mode: mode_t, to app: InstalledApp
    ) throws(SystemError) {
        guard fchmod(file.rawValue, mode) == 0 else {
            throw SystemError(code: errno, call: "fchmod")
        }
        guard app.changesUser, app.account.user != getuid() else { return }
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
        // Without CAP_DAC_OVERRIDE root too must own what it changes.
        _ = fchown(directory.rawValue, getuid(), getgid())
        fchmod(directory.rawValue, 0o700)
        for name in Self.names(in: path) { unsafe unlinkat(directory.rawValue, name, 0) }
        unsafe rmdir(path)
    }

    /// After a restart: of instances that are gone.
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
