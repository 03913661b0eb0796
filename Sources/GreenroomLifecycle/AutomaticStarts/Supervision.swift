/// When an app that ended by itself is started again (systemd.service(5), `Restart=`).
///
///     ended by                                  no  on-failure  on-abnormal  always
///     clean status, clean signal                 -      -            -         x
///     other status, could not be executed        -      x            -         x
///     other signal, not ready in time, unseen    -      x            x         x
///     memory was wanted                          -      -            -         x (later)
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
    /// Each further restart in a row waits twice as long as the one before, up to this; nil: always
    /// `restartDelay`.
    public var maximumDelay: Duration?
    /// No more than this many starts within the interval, of whatever kind, before the daemon stops
    /// starting it by itself; an interval or a burst of 0 sets no limit.
    public var startLimitBurst: Int
    public var startLimitInterval: Duration
    /// Ends that count as clean beside the usual ones.
    public var success: ExitStatusSet
    /// Ends after which it is not started again, whatever `restart` says.
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

    /// Starts that are remembered of an app, which bounds `startLimitBurst`.
    public static let startLimitBurstMaximum = 16

    /// The wait before a restart that follows so many others in a row.
    func delay(after streak: UInt32) -> Duration {
        guard let maximumDelay, maximumDelay > restartDelay else {
            return max(restartDelay, .milliseconds(1))
        }
        let first = max(restartDelay, .milliseconds(1))
        // 2^20 times a millisecond is a quarter of an hour; the greatest span is a century.
        return min(maximumDelay, first * (Int64(1) << Int64(min(streak, 20))))
    }

    var hasStartLimit: Bool { startLimitBurst > 0 && startLimitInterval > .zero }

    /// Connections start an app no more often than this, also where nothing else limits its starts:
    /// one that never accepts would be started again for the same connection at once.
    var activationLimit: Supervision { hasStartLimit ? self : Supervision() }

    /// One that lasted so long makes up for the restarts before it.
    var steadyAfter: Duration { max(startLimitInterval, maximumDelay ?? .zero) }
}

/// Why the daemon does not start an app by itself any more. Raw values are kept in the runtime
/// state. A user's launch, a new build, or `Event.resetFailedRequested` ends it.
public enum SupervisionFailure: UInt8, CaseIterable, Sendable {
    /// It was started `startLimitBurst` times within `startLimitInterval`.
    case startLimit = 1
    /// It ended in a way that `RestartPreventExitStatus=` names.
    case permanentStatus = 2
    /// An app that it requires could not be had.
    case dependency = 3
}

/// What starts an app by itself, and for whom.
public struct Autostart: Hashable, Sendable {
    public var atBoot: Bool
    public var atLogin: Bool
    /// The foreground group of its user's session (`Event.loggedIn`).
    public var session: String

    public init(atBoot: Bool, atLogin: Bool, session: String) {
        self.atBoot = atBoot
        self.atLogin = atLogin
        self.session = session
    }
}

/// How an app stands to others.
public struct Dependencies: Hashable, Sendable {
    /// If they are being started as well, they are ready first.
    public var after: [AppIdentifier]
    /// They are started as well, and ready first; without them it is not started.
    public var requires: [AppIdentifier]
    /// They are ended first; whichever of the two is launched later stays.
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

/// A part of a description that few apps have: one word where it is missing.
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

extension RequestIdentifier {
    /// The daemon's own wish: no client waits, and the app gets what its manifest says.
    public static let automatic = RequestIdentifier(0)
}
