internal import CSystemd

/// Messages of a service to its manager (sd_notify(3)).
///
/// Without a manager (`NOTIFY_SOCKET` is not set), each call does nothing. The result says whether
/// the message was sent to a manager.
public enum Notify {
    /// READY=1: the service has started or has finished reloading.
    @discardableResult
    public static func ready(status: String? = nil) -> Bool { send(["READY=1"], status) }

    /// STATUS=: a line for `systemctl status`.
    @discardableResult
    public static func status(_ text: String) -> Bool { send([], text) }

    /// RELOADING=1 with MONOTONIC_USEC=, as `Type=notify-reload` requires. ``ready(status:)`` ends
    /// the reload.
    @discardableResult
    public static func reloading(status: String? = nil) -> Bool {
        send(["RELOADING=1", "MONOTONIC_USEC=\(LoopActor.nowNanoseconds / 1000)"], status)
    }

    /// STOPPING=1: the service has begun to end.
    @discardableResult
    public static func stopping(status: String? = nil) -> Bool { send(["STOPPING=1"], status) }

    private static func send(_ assignments: [String], _ status: String?) -> Bool {
        let message = message(assignments, status)
        return unsafe sd_notify(0, message) > 0
    }

    /// Puts each assignment on a line. A status must be one line, because the manager would read
    /// further lines as assignments.
    static func message(_ assignments: [String], _ status: String?) -> String {
        var lines = assignments
        if let status {
            lines.append("STATUS=" + String(status.map { $0.isNewline || $0 == "\0" ? " " : $0 }))
        }
        return lines.joined(separator: "\n")
    }
}
