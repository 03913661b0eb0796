/// What the daemon tells an app that is built with an SDK.
///
/// A launch comes first. All others may follow it at once: the app takes them in their order, and
/// acknowledges each with its cookie when its callbacks have returned.
public enum AppEvent: Equatable, Sendable {
    case launch(AppLaunch)
    /// Something happened to the app as a whole.
    case lifecycle(Lifecycle, cookie: UInt64)
    /// Make a scene for this session.
    case connectScene(SceneConnection)
    /// A connected scene changes its state.
    case scene(SceneTransition, session: String, cookie: UInt64)
    /// Sessions that the user closed for good, perhaps while the app was not running.
    case discardScenes([String], cookie: UInt64)
    /// For a running app: to the scene with that session, or to the app itself.
    case deliver(AppContent, session: String?, cookie: UInt64)
    /// The app's credentials, a ``CredentialFile``, after a launch that was without because protected data
    /// was unavailable.
    case credentials(cookie: UInt64)
    /// What was saved of the app, or of the scene with that session; nil: it cannot be had after all. It
    /// follows a launch that announced it (``AppLaunch/Flags/archive``); otherwise it was withheld, as
    /// protected data, and can be read now.
    case restoreState(SavedState?, session: String?, cookie: UInt64)
    /// What was counted of it in the times that are over; one at a time.
    case metrics([MetricReport], cookie: UInt64)
    case diagnostics([DiagnosticReport], cookie: UInt64)
    /// The answer to the app's own request with that cookie. Not acknowledged.
    case answer(request: UInt64, Answer)
    /// Background time and scheduled work. Not acknowledged.
    case background(Background)

    /// The answer to request 0, which nobody makes: the daemon is another, and does not know who
    /// waits. Who does asks again, with ``AppReport/againBit``.
    public static let askAgain = AppEvent.answer(request: 0, .done)

    /// UIKit's events of the app delegate.
    public enum Lifecycle: Int32, CaseIterable, Sendable {
        case willEnterForeground = 1
        case didBecomeActive = 2
        case willResignActive = 3
        case didEnterBackground = 4
        /// The app acknowledges and then ends by itself.
        case willTerminate = 5
        case didReceiveMemoryWarning = 6
        case significantTimeChange = 7
        case protectedDataWillBecomeUnavailable = 8
        case protectedDataDidBecomeAvailable = 9
    }

    /// UIKit's events of the scene delegate, apart from connection.
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
        /// An errno, and a sentence for people.
        case refused(code: Int32, reason: String)
    }
}

/// `scene(_:willConnectTo:options:)` and what precedes it.
public struct SceneConnection: Equatable, Sendable {
    public var session: String
    public var role: String
    /// The manifest's names; the app may answer `configurationForConnecting` with others.
    public var configuration: String?
    public var delegate: String?
    public var content: AppContent
    /// `stateRestorationActivity` of the session, nil while protected data is unavailable.
    public var restoration: AppContent.Activity?
    /// The scene stays *unattached* until it enters the foreground, which follows. Otherwise it is in
    /// the background once it is connected.
    public var isForForeground: Bool
    public var cookie: UInt64

    /// What shells present to users on a screen.
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
    /// - Throws: ``WireError`` for a string with a NUL, or strings beyond the datagram's limit.
    func encoded() throws(WireError) -> [UInt8] { try frame.encoded() }

    /// What the app acknowledges; nil for what it does not.
    public var cookie: UInt64? {
        switch self {
        case .launch(let launch): launch.cookie
        case .connectScene(let connection): connection.cookie
        case .lifecycle(_, let cookie), .scene(_, _, let cookie), .discardScenes(_, let cookie),
            .deliver(_, _, let cookie), .credentials(let cookie), .restoreState(_, _, let cookie),
            .metrics(_, let cookie), .diagnostics(_, let cookie):
            cookie
        case .answer, .background: nil
        }
    }

    /// ENOENT of errno(3).
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
    private static let foregroundFlag: UInt32 = 1

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
