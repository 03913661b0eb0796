internal import CGreenroomLinux
internal import Glibc

/// Notices when somebody sets the clock (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). The
/// descriptor is then readable.
public final class ClockWatch: Sendable {
    public let descriptor: FileDescriptor

    public init() throws(SystemError) {
        descriptor = FileDescriptor(owning: try systemCall("timerfd_create") { gr_clock_watch() })
    }

    /// Whether the clock was set since the last call.
    public func takeChange() -> Bool {
        var count: UInt64 = 0
        let result = unsafe Glibc.read(
            descriptor.rawValue, &count, MemoryLayout<UInt64>.size)
        return result < 0 && errno == ECANCELED
    }
}

/// The time zone of the machine (tzset(3), localtime_r(3)).
public enum LocalZone {
    /// The file that defines the time zone: the one that `TZ=:/path` names, or else localtime(5).
    public static var path: String {
        guard let text = unsafe getenv("TZ").map({ unsafe String(cString: $0) }),
            text.hasPrefix(":/")
        else { return "/etc/localtime" }
        return String(text.dropFirst())
    }

    /// Reads the time zone again if it has changed. For programs with one thread.
    public static func reload() {
        if let value = unsafe getenv("TZ").map({ unsafe String(cString: $0) }) {
            // The C library reads the file again only if the variable's text has changed.
            unsafe setenv("TZ", "UTC", 1)
            tzset()
            unsafe setenv("TZ", value, 1)
        }
        tzset()
    }

    private static let database = "/usr/share/zoneinfo/"

    /// Whether the machine has a time zone of that name (tzfile(5)).
    public static func isKnown(_ name: String) -> Bool {
        guard let file = try? FileDescriptor.open(database + name, O_RDONLY | O_NONBLOCK),
            let magic = try? file.readBytes(atMost: 1 << 20)
        else { return false }
        return magic.starts(with: "TZif".utf8)
    }

    /// Runs `body` as if the machine were in another time zone; nil means its own. For programs
    /// with one thread.
    public static func within<Result>(_ name: String?, _ body: () -> Result) -> Result {
        guard let name else { return body() }
        let former = unsafe getenv("TZ").map { unsafe String(cString: $0) }
        unsafe setenv("TZ", ":" + name, 1)
        tzset()
        defer {
            if let former { unsafe setenv("TZ", former, 1) } else { unsafe unsetenv("TZ") }
            tzset()
        }
        return body()
    }

    /// Seconds east of Greenwich, at an instant in seconds since 1970 UTC.
    public static func offset(at instant: Int64) -> Int64 {
        var time = time_t(instant)
        var parts = unsafe tm()
        guard unsafe localtime_r(&time, &parts) != nil else { return 0 }
        return Int64(unsafe parts.tm_gmtoff)
    }
}
