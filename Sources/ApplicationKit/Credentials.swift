internal import Glibc
internal import GreenroomAppChannel

/// Why protected data cannot be had *now*. An absent credential is no error: those who took
/// "unavailable" for "not there" logged their users out.
public enum ProtectedDataError: Error, Hashable, Sendable {
    /// The device is locked, or was when the app was launched and what the manifest names could not be read
    /// since: try again after `applicationProtectedDataDidBecomeAvailable`.
    case unavailable
    /// It is there and cannot be read; an errno(3).
    case unreadable(code: Int32)
    /// Larger than ``Application/credentialByteLimit``.
    case tooLarge
}

/// What the daemon handed over: a file that nobody can change any more.
struct Credentials {
    /// -1 when there is none. Open until the process ends.
    private(set) var file: CInt = -1

    var areThere: Bool { file >= 0 }

    mutating func adopt(_ descriptor: CInt) {
        if file >= 0 { close(file) }
        file = descriptor
    }

    /// - Returns: nil when there is no credential of that name.
    func read(_ name: String) throws(ProtectedDataError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe pread(file, &part, part.count, off_t(bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(code: errno) }
            if count == 0 { break }
            bytes += part[..<count]
            guard bytes.count <= CredentialFile.byteLimit else { throw .tooLarge }
        }
        do throws(WireError) {
            return try CredentialFile.value(of: name, in: bytes).map { Array($0) }
        } catch {
            throw .unreadable(code: EBADMSG)
        }
    }
}

extension Application {
    /// As much as systemd allows for all credentials of a service together.
    public nonisolated static let credentialByteLimit = CredentialFile.valueByteLimit

    /// Whether the device is unlocked, so that protected data can be read.
    public var isProtectedDataAvailable: Bool { protectedDataIsAvailable }

    /// A credential that the manifest names (`LoadCredential=`).
    /// - Returns: its bytes; nil when there is none of that name.
    /// - Throws: ``ProtectedDataError/unavailable`` while the device is locked, whether or not it exists.
    public func credential(named name: String) throws(ProtectedDataError) -> [UInt8]? {
        guard protectedDataIsAvailable else { throw .unavailable }
        // (Launched while locked, the app gets them before it hears of the unlocking.)
        if credentials.areThere { return try credentials.read(name) }
        // The daemon could not read them, and tries again at the next unlocking.
        if record.launch.flags.contains(.namesCredentials) { throw .unavailable }
        return nil
    }
}
