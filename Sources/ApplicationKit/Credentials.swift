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

/// The directory that the daemon handed over, a file for each credential.
struct Credentials {
    /// -1 when there is none. Open until the process ends.
    private(set) var directory: CInt = -1

    /// Programs that the app starts find it where systemd's services do (systemd.exec(5)).
    static let environmentName = "CREDENTIALS_DIRECTORY"

    var areThere: Bool { directory >= 0 }

    mutating func adopt(_ descriptor: CInt) {
        if directory >= 0 { close(directory) }
        directory = descriptor
        unsafe setenv(Self.environmentName, "/proc/\(getpid())/fd/\(descriptor)", 1)
    }

    /// - Returns: nil when there is no credential of that name.
    func read(_ name: String) throws(ProtectedDataError) -> [UInt8]? {
        guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/"))
        else { return nil }
        let file = unsafe openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw .unreadable(code: errno)
        }
        defer { close(file) }
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe Glibc.read(file, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(code: errno) }
            if count == 0 { return all }
            all.append(contentsOf: part[..<count])
            guard all.count <= Application.credentialByteLimit else { throw .tooLarge }
        }
    }
}

extension Application {
    /// As much as systemd allows for all credentials of a service together.
    public nonisolated static let credentialByteLimit = 1 << 20

    /// Whether the device is unlocked, so that protected data can be read.
    public var isProtectedDataAvailable: Bool { protectedDataIsAvailable }

    /// A credential that the manifest names (`LoadCredential=`).
    /// - Returns: its bytes; nil when there is none of that name.
    /// - Throws: ``ProtectedDataError/unavailable`` while the device is locked, whether or not it exists.
    public func credential(named name: String) throws(ProtectedDataError) -> [UInt8]? {
        guard protectedDataIsAvailable else { throw .unavailable }
        // (Launched while locked, the app gets the directory before it hears of the unlocking.)
        if credentials.areThere { return try credentials.read(name) }
        // The daemon could not read them, and tries again at the next unlocking.
        if launch.flags.contains(.namesCredentials) { throw .unavailable }
        return nil
    }
}
