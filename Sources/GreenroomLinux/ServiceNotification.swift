internal import CGreenroomLinux
internal import Glibc

/// Sends messages to the service manager without libsystemd (sd_notify(3) describes the protocol
/// under "Notes").
public enum ServiceNotification {
    /// Sends assignments such as `READY=1`; does nothing without `$NOTIFY_SOCKET`.
    public static func send(_ text: String) throws(SystemError) {
        guard let address = unsafe getenv("NOTIFY_SOCKET") else { return }
        try systemCall("sendto", on: "NOTIFY_SOCKET") { unsafe gr_notify(address, text) }
    }

    /// Whether the service manager itself executed this process (systemd.exec(5),
    /// $SYSTEMD_EXEC_PID).
    public static var isManaged: Bool {
        guard let value = unsafe getenv("SYSTEMD_EXEC_PID") else { return false }
        return unsafe pid_t(String(cString: value)) == getpid()
    }
}
