/// When an app is started again after its end (systemd.service(5), `Restart=`).
///
///     ended by                                  no  on-failure  on-abnormal  always
///     clean status, clean signal                 -      -            -         x
///     other status, could not be executed        -      x            -         x
///     other signal, not ready in time, unknown   -      x            x         x
///     memory was reclaimed                       -      -            -         x (later)
///     a client, shutdown, a conflict             -      -            -         -
public enum RestartPolicy: UInt8, Sendable {
    case never
    case onFailure
    case onAbnormal
    case always
}

/// Exit statuses and signals, as `SuccessExitStatus=` lists them.
public struct ExitStatusSet: Hashable, Sendable {
    public var statuses: Set<UInt8>
    /// Numbers of signal(7).
    public var signals: Set<UInt8>

    public init(statuses: Set<UInt8> = [], signals: Set<UInt8> = []) {
        self.statuses = statuses
        self.signals = signals
    }

    public func contains(_ status: ExitStatus) -> Bool {
        switch status {
        case .exited(let status): statuses.contains(status)
        case .signaled(let signal, _): signals.contains(signal)
        case .unknown: false
        }
    }

    /// Exit status 0, SIGHUP, SIGINT, SIGPIPE and SIGTERM.
    static let clean = ExitStatusSet(statuses: [0], signals: [1, 2, 13, 15])
}

/// What `[Supervision]` of a manifest says. The defaults are systemd's.
public struct Supervision: Hashable, Sendable {
    public var restart: RestartPolicy
    /// From the end to the first restart.
    public var restartDelay: Duration
    /// Each restart in a row waits twice as long as the one before it, up to this limit. If nil,
    /// every restart waits `restartDelay`.
    public var maximumDelay: Duration?
    /// At most this many starts of any kind within the interval; then the daemon stops starting the
    /// app by itself. An interval or a burst of 0 means no limit.
    public var startLimitBurst: Int
    public var startLimitInterval: Duration
    /// Exit statuses and signals that count as clean, in addition to the usual ones.
    public var success: ExitStatusSet
    /// Exit statuses and signals after which the app is not started again, whatever `restart` says.
    public var preventing: ExitStatusSet

    public init(
        restart: RestartPolicy = .never, restartDelay: Duration = .milliseconds(100),
        maximumDelay: Duration? = nil, startLimitBurst: Int = 5,
        startLimitInterval: Duration = .seconds(10), success: ExitStatusSet = ExitStatusSet(),
        preventing: ExitStatusSet = ExitStatusSet()
    ) {
        self.restart = restart
        self.restartDelay = restartDelay
        self.maximumDelay = maximumDelay
        self.startLimitBurst = startLimitBurst
        self.startLimitInterval = startLimitInterval
        self.success = success
        self.preventing = preventing
    }

    /// At most this many starts of an app are remembered, and `startLimitBurst` may not be greater.
    public static let startLimitBurstMaximum = 16

    /// The delay before a restart that follows `streak` others in a row.
    func delay(after streak: UInt32) -> Duration {
        guard let maximumDelay, maximumDelay > restartDelay else {
            return max(restartDelay, .milliseconds(1))
        }
        let first = max(restartDelay, .milliseconds(1))
        // 2^20 times a millisecond is 17 minutes. The longest possible delay is a hundred years.
        return min(maximumDelay, first * (Int64(1) << Int64(min(streak, 20))))
    }

    var hasStartLimit: Bool { startLimitBurst > 0 && startLimitInterval > .zero }

    /// The limit on starts by connections. It applies even if the manifest sets no start limit: an
    /// app that never accepts would otherwise be started again at once for the same connection.
    var activationLimit: Supervision { hasStartLimit ? self : Supervision() }

    /// An instance that ran at least this long resets the count of restarts in a row.
    var steadyAfter: Duration { max(startLimitInterval, maximumDelay ?? .zero) }
}

/// Why the daemon no longer starts an app by itself. A client's launch, a new build, or
/// `Request.resetFailed` clears it. Raw values are kept in the runtime state.
public enum SupervisionFailure: UInt8, CaseIterable, Sendable {
    /// It was started `startLimitBurst` times within `startLimitInterval`.
    case startLimit = 1
    /// It ended in a way that `RestartPreventExitStatus=` names.
    case permanentStatus = 2
    /// An app that it requires could not be started.
    case dependency = 3
}

/// On which occasions the daemon starts an app by itself.
public struct Autostart: Hashable, Sendable {
    public var atBoot: Bool
    public var atLogin: Bool
    /// The foreground group of the login session of the app's user (`Event.loggedIn`).
    public var loginGroup: String

    public init(atBoot: Bool, atLogin: Bool, loginGroup: String) {
        self.atBoot = atBoot
        self.atLogin = atLogin
        self.loginGroup = loginGroup
    }
}

/// How an app depends on others.
public struct Dependencies: Hashable, Sendable {
    /// If these apps are being started at the same time, they must be ready first.
    public var after: [AppIdentifier]
    /// These apps are started too and must be ready first. The app is not started without them.
    public var requires: [AppIdentifier]
    /// These apps are ended first. Whichever of two conflicting apps is launched later stays.
    public var conflicts: [AppIdentifier]

    public init(
        after: [AppIdentifier] = [], requires: [AppIdentifier] = [],
        conflicts: [AppIdentifier] = []
    ) {
        self.after = after
        self.requires = requires
        self.conflicts = conflicts
    }
}

/// A part of a description that few apps have. Its absence takes one word of memory.
public enum Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    case none
    indirect case some(Value)

    public init(_ value: Value?) { self = value.map { .some($0) } ?? .none }

    public var value: Value? {
        switch self {
        case .none: nil
        case .some(let value): value
        }
    }
}
