import Glibc
import GreenroomControl

// Values in words, for humans.

enum Phrase {
    /// `850 µs`, `1.2 ms`, `3.4 s`.
    static func duration(uSec: Int64) -> String {
        switch uSec {
        case ..<1000: "\(uSec) µs"
        case ..<1_000_000: "\(tenths(uSec, 1000)) ms"
        case _: "\(tenths(uSec, 1_000_000)) s"
        }
    }

    /// How long ago something was: `5 s`, `3 min`, `2 h`, `4 d`.
    static func age(uSec: Int64) -> String {
        let seconds = max(0, uSec / 1_000_000)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        case _: "\(seconds / 86400) d"
        }
    }

    /// A time of any length: `1.2 ms`, `3.4 s`, then as an age.
    static func span(uSec: Int64) -> String {
        uSec < 120_000_000 ? duration(uSec: uSec) : age(uSec: uSec)
    }

    static func bytes(_ count: UInt64) -> String {
        switch count {
        case ..<1024: "\(count) B"
        case ..<(1 << 20): "\(count >> 10) KiB"
        case _: "\(tenths(Int64(clamping: count), 1 << 20)) MiB"
        }
    }

    private static func tenths(_ value: Int64, _ unit: Int64) -> String {
        // In two steps, because a daemon may send a number whose product is too large.
        let tenths = value / unit * 10 + (value % unit * 10 + unit / 2) / unit
        return "\(tenths / 10).\(tenths % 10)"
    }

    static func launch(
        _ kind: Control.Word<Control.LaunchKind>?, _ reason: Control.Word<Control.ColdReason>?,
        anew: Control.Word<Control.AnewReason>? = nil
    ) -> String {
        launch(kind, reason, variables: [], state: [], anew)
    }

    static func launch(_ launch: Control.LaunchSummary) -> String {
        self.launch(
            launch.kind, launch.coldReason, variables: launch.differingVariables ?? [],
            state: launch.differingState ?? [], launch.anewReason)
    }

    private static func launch(
        _ kind: Control.Word<Control.LaunchKind>?, _ reason: Control.Word<Control.ColdReason>?,
        variables: [String], state: [String], _ anew: Control.Word<Control.AnewReason>?
    ) -> String {
        if let anew, let kind { return "\(kind.words) (\(anew.words))" }
        let names = variables.isEmpty ? "" : ": " + variables.joined(separator: ", ").harmless
        return switch (kind, reason) {
        case (nil, _): "-"
        case (let kind?, nil): kind.words
        case (let kind?, .known(.callerState)?) where !state.isEmpty:
            "\(kind.words) (caller's \(state.joined(separator: ", ").harmless))"
        case (let kind?, let reason?): "\(kind.words) (\(reason.words)\(names))"
        }
    }

    /// How an instance ended, and how long it ran, if that is known.
    static func exit(_ exit: Control.ExitRecord, after uSec: Int64? = nil) -> String {
        let how =
            if let signal = exit.signal {
                "\(signalName(signal))\(exit.coreDumped ? ", core dumped" : "")"
            } else if let status = exit.status {
                "status \(status)"
            } else {
                "unseen"
            }
        return "\(exit.reason.words) (\(how))"
            + (uSec.map { " after " + span(uSec: $0) } ?? "")
    }

    /// Who asked for a launch: `greenroomctl (process 4711 of user 1000)`.
    static func caller(_ caller: Control.Caller) -> String {
        "\(caller.program?.harmless ?? "?") (process \(caller.processId) of user \(caller.userId))"
    }

    static func signalName(_ signal: Int32) -> String {
        let names: [Int32: String] = [
            SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL",
            SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
            SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1", SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2",
            SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGXCPU: "SIGXCPU",
            SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS",
        ]
        return names[signal] ?? "signal \(signal)"
    }

    /// The local time of day, `14:03:59.123`.
    static func timeOfDay(uSec: Int64) -> String {
        var seconds = time_t(uSec / 1_000_000)
        var fields = unsafe tm()
        unsafe localtime_r(&seconds, &fields)
        func digits(_ value: Int, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let parts = unsafe [fields.tm_hour, fields.tm_min, fields.tm_sec].map { digits(Int($0), 2) }
        return parts.joined(separator: ":") + "." + digits(Int(uSec / 1000 % 1000), 3)
    }

    /// The local date and time, `2026-05-01 14:03:59`.
    static func dateAndTime(uSec: Int64) -> String {
        var seconds = time_t(uSec / 1_000_000)
        var fields = unsafe tm()
        unsafe localtime_r(&seconds, &fields)
        var buffer = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S", &fields)
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// CLOCK_REALTIME in microseconds.
    static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}

/// A word of the interface that has words for people.
protocol Worded {
    var words: String { get }
}

extension Control.Word where Known: Worded {
    /// The daemon may be newer and know further words, which are shown as they are.
    var words: String { known?.words ?? rawValue.harmless }
}

extension Control.LaunchKind: Worded {
    var words: String {
        switch self {
        case .cold, .prewarmed: rawValue
        case .resume: "resumed"
        case .foreground: "brought to the front"
        case .startedAnew: "started anew"
        }
    }
}

extension Control.AnewReason: Worded {
    var words: String {
        switch self {
        case .options: "other options"
        case .program: "program named in a way of its own"
        case .hiddenModule: "program imports other modules first, or hides a module"
        case .changed: "modules changed"
        case .environment: "other environment"
        case .signals: "caller ignores signals"
        case .failed: "program could not be exchanged"
        }
    }
}

extension Control.ColdReason: Worded {
    var words: String {
        switch self {
        case .prewarmingDisabled: "prewarming is off"
        case .ineligible: "cannot be prewarmed"
        case .noneReady: "none was ready"
        case .environmentMismatch: "other environment"
        case .stale: "program changed"
        case .backOff: "not prewarmed again yet"
        case .resumeFailed: "the paused one did not start"
        case .reclaimed: "memory taken back"
        case .callerState: "caller's directory, umask, limits or descriptors"
        case .arguments: "brings arguments"
        case .appearanceChanged: "the display's scale, theme or font changed"
        case .fileChanged: "a file that it had read changed"
        }
    }
}

extension Control.ExitReason: Worded {
    var words: String { row.words }
}

extension Control.ActivationState: Worded {
    var words: String {
        switch self {
        case .unattached: "unattached"
        case .foregroundActive: "active"
        case .foregroundInactive: "inactive"
        case .background: "background"
        }
    }
}

extension Control.Word<Control.PrewarmDepth> {
    /// Where a paused instance waits.
    var place: String {
        switch known {
        case .main: "before main"
        case .libraries: "before main, with its libraries open"
        case .runtime: "after its interpreter's boot"
        case .window: "before its first window is shown"
        case .declared: "where its program chose to"
        case nil: "at " + rawValue.harmless
        }
    }
}
