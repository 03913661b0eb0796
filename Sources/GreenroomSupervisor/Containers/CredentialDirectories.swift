internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The credentials of each instance: a directory with a file for each, which only the app's user can
/// read, as systemd lays them out (systemd.exec(5), LoadCredential=).
///
///     RUNTIME/credentials/INSTANCE/NAME    0400 in a directory 0500
///
/// Made when the instance is launched, never for a paused one and never while its user's session is
/// locked; gone with the instance. What there is a directory of has been handed over: so another
/// supervisor knows it too.
@LoopActor
final class CredentialDirectories {
    private let root: String

    static let environmentName = "CREDENTIALS_DIRECTORY"
    /// Of all credentials of an app together, as systemd's.
    private static let byteLimit = 1 << 20

    /// The root is there, made by us or by a former supervisor.
    private var hasRoot: Bool

    init(runtimeDirectory: String) {
        root = runtimeDirectory + "/credentials"
        hasRoot = unsafe access(root, F_OK) == 0
    }

    func path(of instance: InstanceIdentifier) -> String { "\(root)/\(instance)" }

    /// The directory, to be passed on; nil if the instance has none (yet).
    func directory(of instance: InstanceIdentifier) -> FileDescriptor? {
        try? FileDescriptor.open(path(of: instance), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    func has(_ instance: InstanceIdentifier) -> Bool {
        unsafe access(path(of: instance), F_OK) == 0
    }

    /// The app's environment with the place of its credentials.
    func environment(_ environment: [String], of instance: InstanceIdentifier) -> [String] {
        let name = Self.environmentName + "="
        return environment.filter { !$0.hasPrefix(name) } + [name + path(of: instance)]
    }

    // MARK: Making

    /// - Throws: what could not be read or made; nothing is left of it then.
    func make(for instance: InstanceIdentifier, of app: InstalledApp) throws(SystemError) {
        remove(instance)
        unsafe mkdir(root, 0o711)
        hasRoot = true
        // Whatever our umask is: everybody may pass through, and nobody sees the names.
        unsafe chmod(root, 0o711)
        try systemCallOn(path(of: instance)) { unsafe mkdir($0, 0o700) }
        do throws(SystemError) {
            try fill(try directory(path(of: instance)), app)
        } catch {
            remove(instance)
            throw error
        }
    }

    private func fill(
        _ directory: FileDescriptor, _ app: InstalledApp
    ) throws(SystemError) {
        var byteCount = 0
        for credential in app.credentials {
            let bytes = try Self.bytes(of: credential, atMost: Self.byteLimit - byteCount)
            byteCount += bytes.count
            let file = try directory.open(
                credential.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try Self.write(bytes, to: file)
            try give(file, mode: 0o400, to: app)
        }
        try give(directory, mode: 0o500, to: app)
    }

    private func directory(_ path: String) throws(SystemError) -> FileDescriptor {
        try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    /// Read anew each time: secrets are not kept here, and change.
    private static func bytes(
        of credential: AppManifest.Credential, atMost limit: Int
    ) throws(SystemError) -> [UInt8] {
        guard let path = credential.path else { return credential.value ?? [] }
        do throws(SystemError) {
            // A pipe would keep the loop waiting.
            let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            var status = stat()
            guard unsafe fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG
            else { throw SystemError(code: EINVAL, call: "reading", subject: path) }
            return try file.readBytes(atMost: limit)
        } catch {
            guard error.code == ENOENT, let value = credential.value else { throw error }
            return value
        }
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

    /// The mode first: afterwards it is not ours to change.
    private func give(
        _ file: FileDescriptor, mode: mode_t, to app: InstalledApp
    ) throws(SystemError) {
        guard fchmod(file.rawValue, mode) == 0 else {
            throw SystemError(code: errno, call: "fchmod")
        }
        guard app.account.user != getuid() || app.account.group != getgid() else { return }
        guard !app.changesUser || fchown(file.rawValue, app.account.user, app.account.group) == 0
        else {
            throw SystemError(code: errno, call: "fchown")
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
