/// A message of the daemon to an app that is made with an SDK.
///
/// A launch comes first. The others may follow it at once. The app handles them in their order, and
/// acknowledges each with its cookie after its callbacks have returned.
public enum AppEvent: Equatable, Sendable {
    case launch(AppLaunch)
    /// Something happened to the app as a whole.
    case lifecycle(Lifecycle, cookie: UInt64)
    /// Connect a scene for this session.
    case connectScene(SceneConnection)
    /// A connected scene changes its state.
    case scene(SceneTransition, session: String, cookie: UInt64)
    /// The user has closed these sessions for good, perhaps while the app was not running.
    case discardScenes([String], cookie: UInt64)
    /// Content for a running app, or for the scene with that session.
    case deliver(AppContent, session: String?, cookie: UInt64)
    /// A running app is wanted for a new reason, as if it had been launched for it: the reason from
    /// now on, and the values that belong to an event of the system.
    case handleEvents(for: AppLaunch.Reason, AppContent, cookie: UInt64)
    /// The app's credentials, a ``CredentialFile``, if the launch did not have them because
    /// protected data was unavailable.
    case credentials(cookie: UInt64)
    /// The saved state of the app, or of the scene with that session. Nil means that it could not
    /// be read after all. This message follows a launch that has announced it
    /// (``AppLaunch/Flags/archive``). At other times, the state was withheld as protected data, and
    /// can be read now.
    case restoreState(SavedState?, session: String?, cookie: UInt64)
    /// The app's metrics of past spans of time. One such message is under way at a time.
    case metrics([MetricReport], cookie: UInt64)
    case diagnostics([DiagnosticReport], cookie: UInt64)
    /// The answer to the app's own request with that cookie. Not acknowledged.
    case answer(request: UInt64, Answer)
    /// Background time and scheduled work. Not acknowledged.
    case background(Background)

    /// The answer to request 0, which no app makes. It means that the daemon was restarted and does
    /// not know the unanswered requests. The app sends them again, with ``AppReport/againBit``.
    public static let askAgain = AppEvent.answer(request: 0, .done)

    /// UIKit's events of the app delegate.
    public enum Lifecycle: Int32, CaseIterable, Sendable {
        case willEnterForeground = 1
        case didBecomeActive = 2
        case willResignActive = 3
        case didEnterBackground = 4
        /// The app acknowledges this and then ends by itself.
        case willTerminate = 5
        case didReceiveMemoryWarning = 6
        case significantTimeChange = 7
        case protectedDataWillBecomeUnavailable = 8
        case protectedDataDidBecomeAvailable = 9
        /// Protected data became unavailable while the app was suspended. No callback.
        case protectedDataIsUnavailable = 10
    }

    /// UIKit's events of the scene delegate, except the connection.
    public enum SceneTransition: Int32, CaseIterable, Sendable {
        case willEnterForeground = 1
        case didBecomeActive = 2
        case willResignActive = 3
        case didEnterBackground = 4
        /// The scene object ends; its session stays.
        case didDisconnect = 5
    }

    public enum Answer: Equatable, Sendable {
        case done
        /// An errno, and the reason in words.
        case refused(code: Int32, reason: String)
    }
}

/// `scene(_:willConnectTo:options:)` and what precedes it.
public struct SceneConnection: Equatable, Sendable {
    public var session: String
    public var role: String
    /// The names in the manifest. The app may choose others in `configurationForConnecting`.
    public var configuration: String?
    public var delegate: String?
    public var content: AppContent
    /// `stateRestorationActivity` of the session, nil while protected data is unavailable.
    public var restoration: AppContent.Activity?
    /// Whether the scene stays *unattached* until it is told to enter the foreground, which follows.
    /// Otherwise it is in the background once it is connected.
    public var isForForeground: Bool
    public var cookie: UInt64

    /// The role of scenes that shells show on a screen.
    public static let applicationRole = "application"

    public init(
        session: String, role: String = applicationRole, configuration: String? = nil,
        delegate: String? = nil, content: AppContent = AppContent(),
        restoration: AppContent.Activity? = nil, isForForeground: Bool = true, cookie: UInt64
    ) {
        self.session = session
        self.role = role
        self.configuration = configuration
        self.delegate = delegate
        self.content = content
        self.restoration = restoration
        self.isForForeground = isForForeground
        self.cookie = cookie
    }
}

extension AppEvent {
    /// - Throws: ``WireError`` if a string contains a NUL, or if the strings exceed the datagram's
    ///   limit.
    func encoded() throws(WireError) -> [UInt8] { try frame.encoded() }

    /// The cookie that the app acknowledges; nil if the message is not acknowledged.
    public var cookie: UInt64? {
        switch self {
        case .launch(let launch): launch.cookie
        case .connectScene(let connection): connection.cookie
        case .lifecycle(_, let cookie), .scene(_, _, let cookie), .discardScenes(_, let cookie),
            .deliver(_, _, let cookie), .handleEvents(_, _, let cookie),
            .credentials(let cookie), .restoreState(_, _, let cookie),
            .metrics(_, let cookie), .diagnostics(_, let cookie):
            cookie
        case .answer, .background: nil
        }
    }

    /// ENOENT (errno(3)).
    private static let notThere: Int32 = 2

    private var frame: AppFrame {
        switch self {
        case .launch(let launch): return launch.frame
        case .lifecycle(let event, let cookie):
            return AppFrame(.lifecycle, cookie: cookie, status: event.rawValue)
        case .connectScene(let connection): return connection.frame
        case .scene(let transition, let session, let cookie):
            return AppFrame(
                .scene, cookie: cookie, status: transition.rawValue, words: [session])
        case .discardScenes(let sessions, let cookie):
            return AppFrame(.discardScenes, cookie: cookie, words: sessions)
        case .deliver(let content, let session, let cookie):
            var frame = AppFrame(.deliver, cookie: cookie, words: session.map { [$0] } ?? [])
            content.add(to: &frame.fields)
            return frame
        case .handleEvents(let reason, let content, let cookie):
            var frame = AppFrame(.handleEvents, cookie: cookie, status: reason.rawValue)
            content.add(to: &frame.fields)
            return frame
        case .credentials(let cookie):
            var frame = AppFrame(.credentials, cookie: cookie)
            frame.roles = [WireFormat.credentialsRole]
            return frame
        case .restoreState(let state?, let session, let cookie):
            return state.frame(session: session, cookie: cookie)
        case .restoreState(nil, let session, let cookie):
            return AppFrame(
                .restoreState, cookie: cookie, status: Self.notThere, words: [session ?? ""])
        case .metrics(let reports, let cookie): return .metrics(reports, cookie)
        case .diagnostics(let reports, let cookie):
            return AppFrame(.diagnostics, cookie: cookie, words: reports.map(\.text))
        case .answer(let request, .done): return AppFrame(.answer, cookie: request)
        case .answer(let request, .refused(let code, let reason)):
            return AppFrame(.answer, cookie: request, status: code, words: [reason])
        case .background(let event): return event.frame
        }
    }

    init(_ frame: AppFrame) throws(WireError) {
        switch frame.type {
        case .launch: self = .launch(try AppLaunch(frame))
        case .lifecycle:
            guard let event = Lifecycle(rawValue: frame.status) else {
                throw .unknownValue(frame.status, type: frame.type.rawValue)
            }
            self = .lifecycle(event, cookie: frame.cookie)
        case .connectScene: self = .connectScene(try SceneConnection(frame))
        case .scene:
            guard let transition = SceneTransition(rawValue: frame.status) else {
                throw .unknownValue(frame.status, type: frame.type.rawValue)
            }
            guard let session = frame.word(0) else { throw .malformedStrings }
            self = .scene(transition, session: session, cookie: frame.cookie)
        case .discardScenes: self = .discardScenes(frame.words, cookie: frame.cookie)
        case .deliver:
            self = .deliver(
                AppContent(frame.fields), session: frame.word(0), cookie: frame.cookie)
        case .handleEvents:
            guard let reason = AppLaunch.Reason(rawValue: frame.status) else {
                throw .unknownValue(frame.status, type: frame.type.rawValue)
            }
            self = .handleEvents(for: reason, AppContent(frame.fields), cookie: frame.cookie)
        case .credentials:
            guard frame.roles.count == 1 else {
                throw .wrongDescriptorCount(announced: 1, received: 0)
            }
            self = .credentials(cookie: frame.cookie)
        case .restoreState:
            self = .restoreState(
                frame.status == 0 ? try SavedState(frame) : nil, session: frame.word(0),
                cookie: frame.cookie)
        case .metrics: self = .metrics(frame.metricReports, cookie: frame.cookie)
        case .diagnostics:
            self = .diagnostics(
                frame.words.compactMap { DiagnosticReport(text: $0) }, cookie: frame.cookie)
        case .answer:
            let answer: Answer =
                frame.status == 0
                ? .done : .refused(code: frame.status, reason: frame.word(0) ?? "")
            self = .answer(request: frame.cookie, answer)
        case .acknowledged, .launchStep, .callbackOverran, .didDrawFirstFrame, .requestScene,
            .openURL, .launchTask, .subscribesToMetrics, .launchSteps, .saveState,
            .extendRestoration,
            .completeRestoration, .beginBackgroundTask, .endBackgroundTask, .submitTask,
            .taskRequests, .completedTask:
            throw .unknownType(frame.type.rawValue)
        case .backgroundTime: self = .background(Background(time: frame))
        case .backgroundTimeExpires: self = .background(.timeExpires(at: frame.cookie))
        case .runTask: self = .background(.run(try TaskRun(frame)))
        case .expireTask: self = .background(.expire(try TaskRun(frame)))
        case .pendingTasks: self = .background(Background(list: frame))
        }
    }
}

extension SceneConnection {
    static let foregroundFlag: UInt32 = 1

    fileprivate var frame: AppFrame {
        var frame = AppFrame(
            .connectScene, cookie: cookie,
            words: [session, role, configuration ?? "", delegate ?? ""])
        frame.flags = isForForeground ? Self.foregroundFlag : 0
        content.add(to: &frame.fields)
        frame.fields.entries += restoration.map { AppArchive($0).entries } ?? []
        return frame
    }

    fileprivate init(_ frame: AppFrame) throws(WireError) {
        guard let session = frame.word(0), let role = frame.word(1) else {
            throw .malformedStrings
        }
        self.init(
            session: session, role: role, configuration: frame.word(2), delegate: frame.word(3),
            content: AppContent(frame.fields), restoration: AppArchive(frame.fields).activity,
            isForForeground: frame.flags & Self.foregroundFlag != 0, cookie: frame.cookie)
    }
}
