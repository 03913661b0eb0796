internal import CSystemd
import Glibc

/// Who is logged in, as systemd-logind writes it down below /run/systemd (sd-login(3)): no bus, one
/// inotify descriptor, and a wake-up only when a user comes, goes or changes.
@LoopActor
@safe public final class Logins {
    /// More than a machine has sessions of its users; what is beyond is not seen.
    private static let userLimit = 4096

    private let monitor: OpaquePointer
    private var source: EventSource?

    /// - Throws: `ENOENT` where no logind runs.
    public init(onChange: @escaping @LoopActor () -> Void) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_login_monitor_new", unsafe sd_login_monitor_new("uid", &raw))
        unsafe monitor = raw!
        let monitor = unsafe monitor
        source = try LoopActor.io(unsafe sd_login_monitor_get_fd(monitor), .readable) { _ in
            _ = unsafe sd_login_monitor_flush(monitor)
            onChange()
        }
    }

    isolated deinit {
        source = nil
        _ = unsafe sd_login_monitor_unref(monitor)
    }

    /// Users with a session that has begun: their runtime directory and user manager are there. A
    /// user who lingers has none (sd_uid_get_state(3)).
    public static var users: Set<UInt32> {
        var list: UnsafeMutablePointer<uid_t>?
        let count = unsafe sd_get_uids(&list)
        guard count > 0, let list = unsafe list else { return [] }
        defer { unsafe free(list) }
        var users: Set<UInt32> = []
        for index in 0..<min(Int(count), userLimit) where unsafe hasSession(list[index]) {
            users.insert(unsafe list[index])
        }
        return users
    }

    private static func hasSession(_ user: uid_t) -> Bool {
        var state: UnsafeMutablePointer<CChar>?
        guard unsafe sd_uid_get_state(user, &state) >= 0, let state = unsafe state else {
            return false
        }
        defer { unsafe free(state) }
        return ["active", "online"].contains(unsafe String(cString: state))
    }

    /// Every session by its identifier (sd_get_sessions(3)).
    public static var sessions: [String] {
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = unsafe sd_get_sessions(&list)
        guard count > 0, let list = unsafe list else { return [] }
        defer { unsafe free(list) }
        return (0..<Int(count)).compactMap { index in
            guard let name = unsafe list[index] else { return nil }
            defer { unsafe free(name) }
            return unsafe String(cString: name)
        }
    }

    /// Whose session it is (sd_session_get_uid(3)).
    public static func user(ofSession session: String) -> UInt32? {
        var user: uid_t = 0
        return unsafe sd_session_get_uid(session, &user) >= 0 ? user : nil
    }
}
