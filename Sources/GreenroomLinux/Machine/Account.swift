public import Glibc

/// A user in the system's database (passwd(5)). A look-up may ask the network, so do it only at
/// load.
public struct Account: Hashable, Sendable {
    public let name: String
    public let user: uid_t
    public let group: gid_t
    public let home: String
    public let shell: String

    /// Every group that the user is in, including the primary one (getgrouplist).
    public func groups() -> [gid_t] {
        var count: CInt = Self.groupCountMax
        var groups = [gid_t](repeating: 0, count: Int(count))
        let result = unsafe getgrouplist(name, group, &groups, &count)
        return result < 0 ? groups : Array(groups.prefix(Int(count)))
    }

    /// The user with this name (getpwnam_r); nil if there is none.
    public static func named(_ name: String) throws(SystemError) -> Account? {
        unsafe try look("getpwnam_r", name) { unsafe getpwnam_r(name, $0, $1, $2, $3) }
    }

    /// The user with this number (getpwuid_r); nil if there is none.
    public static func numbered(_ user: uid_t) throws(SystemError) -> Account? {
        unsafe try look("getpwuid_r", "\(user)") { unsafe getpwuid_r(user, $0, $1, $2, $3) }
    }

    /// The number of the group with this name (getgrnam_r); nil if there is none.
    public static func group(named name: String) throws(SystemError) -> gid_t? {
        var entry = unsafe Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: entryByteCountMax)
        let code = unsafe getgrnam_r(name, &entry, &buffer, buffer.count, &found)
        if code != 0 { throw SystemError(code: code, call: "getgrnam_r", subject: name) }
        return unsafe found.map { unsafe $0.pointee.gr_gid }
    }

    /// The kernel's limit is 65,536 groups per process; users in more groups than this are not
    /// supported.
    private static let groupCountMax: CInt = 4096
    /// The size of one entry of the database. An entry for a group names every member.
    private static let entryByteCountMax = 256 * 1024

    private typealias Lookup = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> CInt

    private static func look(
        _ call: String, _ subject: String, _ lookup: Lookup
    ) throws(SystemError) -> Account? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: entryByteCountMax)
        let code = unsafe lookup(&entry, &buffer, buffer.count, &found)
        // Some backends report an unknown name as ENOENT or ESRCH (see the man page).
        if code == ENOENT || code == ESRCH { return nil }
        if code != 0 { throw SystemError(code: code, call: call, subject: subject) }
        guard unsafe found != nil else { return nil }
        return withExtendedLifetime(buffer) {
            unsafe Account(
                name: String(cString: entry.pw_name), user: entry.pw_uid, group: entry.pw_gid,
                home: String(cString: entry.pw_dir), shell: String(cString: entry.pw_shell))
        }
    }
}
