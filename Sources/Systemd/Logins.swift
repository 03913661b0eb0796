internal import CSystemd
import Glibc

/// The users who are logged in, from systemd-logind's files in /run/systemd (sd-login(3)). This
/// does not use the bus, needs one inotify descriptor, and wakes up only when a user logs in or out
/// or changes state.
@LoopActor
@safe public final class Logins {
    /// At most this many users. Further ones are ignored.
    private static let userLimit = 4096

    private let monitor: OpaquePointer
    private var source: EventSource?

    /// - Throws: `ENOENT` if the folders of /run/systemd are missing. systemd-tmpfiles makes them,
    ///   so they may exist although no logind runs (``isServed``).
    public init(onChange: @escaping @LoopActor () -> Void) throws(SystemdError) {
        var raw: OpaquePointer?
        try check("sd_login_monitor_new", unsafe sd_login_monitor_new("uid", &raw))
        unsafe monitor = raw!
        let monitor = unsafe monitor
        source = try LoopActor.io(descriptorNumber, .readable) { _ in
            _ = unsafe sd_login_monitor_flush(monitor)
            onChange()
        }
    }

    /// The number of the monitor's inotify(7) queue.
    public var descriptorNumber: CInt { unsafe sd_login_monitor_get_fd(monitor) }

    isolated deinit {
        source = nil
        _ = unsafe sd_login_monitor_unref(monitor)
    }

    /// Whether logind has run since the machine was booted. It always has seat0.
    public static var isServed: Bool { unsafe access("/run/systemd/seats/seat0", F_OK) == 0 }

    /// The users with a login session that has begun, so that their runtime directory and user
    /// manager exist. A user who only lingers has no session (sd_uid_get_state(3)).
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

    /// The ``users`` who have an active session that is shown to somebody: the session has a seat,
    /// or is a graphical one without a seat, on a remote display. A login by ssh is always active
    /// and shows no window (sd_session_is_active(3)).
    public static var activeUsers: Set<UInt32> {
        users.filter { user in activeSessions(of: user).contains { isShown($0) } }
    }

    private static func isShown(_ session: String) -> Bool {
        var text: UnsafeMutablePointer<CChar>?
        if unsafe sd_session_get_seat(session, &text) >= 0 {
            unsafe free(text)
            return true
        }
        guard unsafe sd_session_get_type(session, &text) >= 0, let type = unsafe text else {
            return false
        }
        defer { unsafe free(type) }
        return ["x11", "wayland", "mir"].contains(unsafe String(cString: type))
    }

    private static func hasSession(_ user: uid_t) -> Bool {
        var state: UnsafeMutablePointer<CChar>?
        guard unsafe sd_uid_get_state(user, &state) >= 0, let state = unsafe state else {
            return false
        }
        defer { unsafe free(state) }
        return ["active", "online"].contains(unsafe String(cString: state))
    }

    /// The identifiers of all sessions (sd_get_sessions(3)).
    public static var sessions: [String] {
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = unsafe sd_get_sessions(&list)
        return unsafe strings(list, count)
    }

    private static func activeSessions(of user: uid_t) -> [String] {
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = unsafe sd_uid_get_sessions(user, 1, &list)
        return unsafe strings(list, count)
    }

    private static func strings(
        _ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: CInt
    ) -> [String] {
        guard let list = unsafe list else { return [] }
        defer { unsafe free(list) }
        return (0..<Int(count)).compactMap { index in
            guard let name = unsafe list[index] else { return nil }
            defer { unsafe free(name) }
            return unsafe String(cString: name)
        }
    }

    /// The user of a session (sd_session_get_uid(3)).
    public static func user(ofSession session: String) -> UInt32? {
        var user: uid_t = 0
        return unsafe sd_session_get_uid(session, &user) >= 0 ? user : nil
    }
}
