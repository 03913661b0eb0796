/// Why, when and into which state an app is launched. A paused app gets this just before its GO. An
/// app that is launched cold gets it instead of a GO, because it has its arguments and environment
/// from exec.
public struct AppLaunch: Equatable, Sendable {
    /// The app acknowledges this cookie after `didFinishLaunchingNotification` has been posted.
    public var cookie: UInt64
    public var reason: Reason
    public var flags: Flags
    /// When the client asked: `CLOCK_MONOTONIC`, nanoseconds.
    public var requestInstant: UInt64
    /// The manifest's default interface, for an app without scenes.
    public var interface: String?
    /// The launch options. They are empty for an app with scenes, which gets them when its scene is
    /// connected.
    public var content: AppContent
    /// The folders that the app may write to; nil if its manifest asks for none.
    public var container: AppContainer?
    /// `Version=` in the manifest.
    public var version: String?

    public init(
        cookie: UInt64, reason: Reason = .user, flags: Flags = [.foreground],
        requestInstant: UInt64 = 0, interface: String? = nil, content: AppContent = AppContent()
    ) {
        self.cookie = cookie
        self.reason = reason
        self.flags = flags
        self.requestInstant = requestInstant
        self.interface = interface
        self.content = content
    }

    public struct Flags: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The launch is into the foreground: the app is *inactive* until it becomes active.
        /// Without this flag, the app is in the state *background*.
        public static let foreground = Flags(rawValue: 1)
        /// The app uses scenes: its launch options are nil, and connections of scenes follow.
        public static let scenes = Flags(rawValue: 2)
        /// The device is unlocked.
        public static let protectedDataAvailable = Flags(rawValue: 4)
        /// The app's credentials, a ``CredentialFile``, are the message's only descriptor.
        public static let credentials = Flags(rawValue: 8)
        /// ``AppEvent/restoreState(_:session:cookie:)`` for the app follows, perhaps after other
        /// messages. The launch sequence waits for it at the point at which state is restored.
        public static let archive = Flags(rawValue: 16)
        /// No launch of the app has ever finished here: the time for one-time setup.
        public static let firstLaunch = Flags(rawValue: 32)
        /// No launch of this version of the app (`Version=`) has ever finished here.
        public static let firstLaunchOfVersion = Flags(rawValue: 64)
        /// The app's manifest names credentials. Until they have come, they are unavailable, not
        /// absent.
        public static let namesCredentials = Flags(rawValue: 128)
    }

    /// Why the app is launched.
    public enum Reason: Int32, CaseIterable, Sendable {
        /// The user started it.
        case user = 0
        case url = 1
        case quickAction = 2
        case userActivity = 3
        case remoteNotification = 4
        case location = 5
        /// A timer, socket or path in its manifest.
        case timer = 6
        case socket = 7
        case path = 8
        /// Another reason of the system's, in the background.
        case system = 9
        /// Work that it has scheduled. The run follows (``AppEvent/Background/run(_:)``).
        case scheduledTask = 10
    }
}

extension AppLaunch {
    var frame: AppFrame {
        var frame = AppFrame(
            .launch, cookie: cookie, status: reason.rawValue, words: [interface ?? ""])
        frame.flags = flags.rawValue
        frame.fields.add("requested", String(requestInstant))
        container?.add(to: &frame.fields)
        frame.fields.add("version", version)
        content.add(to: &frame.fields)
        if flags.contains(.credentials) { frame.roles = [WireFormat.credentialsRole] }
        return frame
    }

    init(_ frame: AppFrame) throws(WireError) {
        guard let reason = Reason(rawValue: frame.status) else {
            throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
        let flags = Flags(rawValue: frame.flags)
        let expected = flags.contains(.credentials) ? 1 : 0
        guard frame.roles.count == expected else {
            throw .wrongDescriptorCount(announced: expected, received: frame.roles.count)
        }
        let requested = frame.fields.pairs.first { $0.name == "requested" }?.value
        self.init(
            cookie: frame.cookie, reason: reason, flags: flags,
            requestInstant: requested.flatMap { UInt64($0) } ?? 0, interface: frame.word(0),
            content: AppContent(frame.fields))
        container = AppContainer(frame.fields)
        version = frame.fields.pairs.first { $0.name == "version" }?.value
    }
}

/// The folders that an app may write to, as absolute paths: systemd's `StateDirectory=`,
/// `CacheDirectory=` and a `TMPDIR`.
public struct AppContainer: Hashable, Sendable {
    /// Kept until somebody removes it.
    public var state: String
    /// Kept, but the user or the system may empty it while the app does not run.
    public var cache: String
    /// Emptied after the app has ended.
    public var temporary: String

    public init(state: String, cache: String, temporary: String) {
        self.state = state
        self.cache = cache
        self.temporary = temporary
    }
}

extension AppContainer {
    private static let names = ["state-directory", "cache-directory", "temporary-directory"]

    func add(to fields: inout AppFields) {
        for (name, path) in zip(Self.names, [state, cache, temporary]) { fields.add(name, path) }
    }

    /// Nil unless all of them are given.
    init?(_ fields: AppFields) {
        let paths = Self.names.compactMap { name in
            fields.pairs.first { $0.name == name }?.value
        }
        guard paths.count == Self.names.count else { return nil }
        self.init(state: paths[0], cache: paths[1], temporary: paths[2])
    }
}
