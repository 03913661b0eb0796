internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLinux
internal import GreenroomManifest

/// The current credentials of an app. They are read again for each launch, because the daemon keeps
/// no secrets and credentials may change.
struct CredentialSet {
    let all: [(name: String, value: [UInt8])]

    /// - Throws: what could not be read.
    init(of app: InstalledApp) throws(SystemError) {
        var all: [(name: String, value: [UInt8])] = []
        var room = CredentialFile.valueByteLimit
        for credential in app.credentials {
            let value = try Self.value(of: credential, atMost: room)
            room -= value.count
            all.append((credential.name, value))
        }
        guard room >= 0 else { throw SystemError(code: EFBIG, call: "reading") }
        self.all = all
    }

    /// The credentials in a sealed file, which nobody can change.
    func sealed() throws(SystemError) -> FileDescriptor {
        let file = unsafe try CredentialFile.bytes(of: all).span.bytes.withUnsafeBytes {
            bytes throws(SystemError) in
            unsafe try SealedFile.create(bytes, name: "greenroom-credentials")
        }
        // The app may open the file again (/dev/fd) and read it; nobody else finds the file.
        guard fchmod(file.rawValue, 0o444) == 0 else {
            throw SystemError(code: errno, call: "fchmod")
        }
        return file
    }

    private static func value(
        of credential: AppManifest.Credential, atMost limit: Int
    ) throws(SystemError) -> [UInt8] {
        guard let path = credential.path else { return credential.value ?? [] }
        do throws(SystemError) {
            // We read the file for an app that may not read it, so nobody else may decide what the
            // path leads to.
            if let objection = PathOwners().objection(to: path) { throw objection.systemError }
            // Opening a pipe would otherwise keep the loop waiting.
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
}
