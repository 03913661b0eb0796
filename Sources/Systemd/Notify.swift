internal import CSystemd

/// What a service tells its manager (sd_notify(3)).
///
/// Without a manager (`NOTIFY_SOCKET` unset) each call does nothing. The result says whether the
/// manager was told.
public enum Notify {
    /// READY=1: started, or done with reloading.
    @discardableResult
    public static func ready(status: String? = nil) -> Bool { send(["READY=1"], status) }

    /// STATUS=: one line for `systemctl status`.
    @discardableResult
    public static func status(_ text: String) -> Bool { send([], text) }

    /// RELOADING=1 with MONOTONIC_USEC=, as `Type=notify-reload` wants it; end it with ``ready(status:)``.
    @discardableResult
    public static func reloading(status: String? = nil) -> Bool {
        send(["RELOADING=1", "MONOTONIC_USEC=\(LoopActor.nowNanoseconds / 1000)"], status)
    }

    /// STOPPING=1: the end has begun.
    @discardableResult
    public static func stopping(status: String? = nil) -> Bool { send(["STOPPING=1"], status) }

    private static func send(_ assignments: [String], _ status: String?) -> Bool {
        let message = message(assignments, status)
        return unsafe sd_notify(0, message) > 0
    }

    /// One assignment per line; a status is one line, or its rest would be read as assignments.
    static func message(_ assignments: [String], _ status: String?) -> String {
        var lines = assignments
        if let status {
            lines.append("STATUS=" + String(status.map { $0.isNewline || $0 == "\0" ? " " : $0 }))
        }
        return lines.joined(separator: "\n")
    }
}
