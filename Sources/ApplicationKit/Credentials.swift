internal import Glibc
internal import GreenroomAppChannel

/// Why protected data cannot be read *now*. A credential that does not exist is not an error: apps
/// that mistook "unavailable" for "does not exist" have logged their users out.
///
/// Source: none; Apple has no such type.
public enum ProtectedDataError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The device is locked; or it was locked when the app was launched, and the daemon has not
    /// been able to read the credentials since. Try again after
    /// `applicationProtectedDataDidBecomeAvailable`.
    case unavailable
    /// The credential exists and cannot be read. `code` is an errno(3).
    case unreadable(code: Int32)
    /// The credentials are larger than ``Application/credentialByteLimit``.
    case tooLarge

    /// The reason in words.
    public var description: String {
        switch self {
        case .unavailable:
            "protected data is unavailable: the device is locked, or was locked at the launch"
        case .unreadable(let code): "the credential cannot be read (errno \(code))"
        case .tooLarge:
            "the credentials are larger than \(Application.credentialByteLimit) bytes"
        }
    }
}

/// The credentials that the daemon handed over, in a file that nobody can change (a sealed memfd).
struct Credentials {
    /// The file's descriptor, which stays open until the device is locked; -1 if there is none.
    private(set) var file: CInt = -1

    var areThere: Bool { file >= 0 }

    mutating func replace(with descriptor: CInt) {
        drop()
        file = descriptor
    }

    mutating func drop() {
        if file >= 0 { close(file) }
        file = -1
    }

    /// - Returns: nil if there is no credential of that name.
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
    /// The total size of an app's credentials is at most this many bytes: 1 MiB, as for a systemd
    /// service (systemd.exec(5)).
    public nonisolated static let credentialByteLimit = CredentialFile.valueByteLimit

    /// Whether the device is unlocked, so that protected data can be read; UIKit's property of the
    /// same name.
    public var isProtectedDataAvailable: Bool { protectedDataIsAvailable }

    /// Reads a credential that the manifest names (`LoadCredential=`, `SetCredential=`).
    /// - Returns: the credential's bytes; nil if there is no credential of that name.
    /// - Throws: ``ProtectedDataError``. While the device is locked, it is always
    ///   ``ProtectedDataError/unavailable``, whether or not the credential exists.
    public func credential(named name: String) throws(ProtectedDataError) -> [UInt8]? {
        guard protectedDataIsAvailable else { throw .unavailable }
        // (After a lock, the app gets the credentials before it is told that the device is
        // unlocked.)
        if credentials.areThere { return try credentials.read(name) }
        // The daemon could not read the credentials. It tries again when the device is next
        // unlocked.
        if record.launch.flags.contains(.namesCredentials) { throw .unavailable }
        return nil
    }
}
