/// A message to the daemon from an app that is made with an SDK and has started.
public enum AppReport: Equatable, Sendable {
    /// The callbacks of the event with that cookie have returned. `handled` is false if the app
    /// could not open, do or continue what it was given.
    case acknowledged(cookie: UInt64, handled: Bool)
    /// A step of the launch sequence was taken. `session` is the scene's, for steps of a scene.
    case launchStep(LaunchStep, at: UInt64, session: String?)
    /// A callback kept the main thread for longer than the limit.
    case callbackOverran(String, duration: Duration)
    /// The user sees the app. Sent once for each launch or return to the foreground.
    case didDrawFirstFrame(at: UInt64, session: String?)
    /// The app asks for a scene to be shown, refreshed or closed. Answered.
    case requestScene(SceneRequest, cookie: UInt64)
    /// `Application.open(_:)`: the app asks for a URL to be opened. Answered.
    case openURL(String, cookie: UInt64)
    /// The state to keep for the app, or for the scene with that session, or the progress of
    /// restoring it. Comes before the acknowledgement of the step into the background. Answered
    /// unless the cookie is 0.
    case state(StateReport, session: String?, cookie: UInt64)
    /// Background time and scheduled work.
    case background(Background)
    /// Work that is part of the launch has begun or is finished. The app chooses its name.
    case launchTask(String, isFinished: Bool, at: UInt64)
    /// Reports the launch again to a restarted daemon (``AppEvent/askAgain``).
    case launchSteps(LaunchSteps)
    /// The app wants metrics and diagnostics from now on, or no longer wants them.
    case subscribesToMetrics(Bool)

    /// Added to the cookie of a request that is sent again because the daemon was restarted
    /// (``AppEvent/askAgain``). The answer has the cookie without it.
    public static let againBit: UInt64 = 1 << 63

    /// The steps of the launch sequence, in order.
    public enum LaunchStep: Int32, CaseIterable, Sendable {
        /// `ApplicationMain` goes on; in a prewarmed app, after its pause.
        case main = 0
        /// The application object and its delegate exist.
        case objects = 1
        case eventLoop = 2
        /// The default interface was handed over (apps without scenes).
        case interface = 3
        case willFinishLaunching = 4
        case stateRestoration = 5
        case didFinishLaunching = 6
        case didFinishLaunchingNotification = 7
        case sceneConfiguration = 8
        case sceneConnection = 9
        /// The first didBecomeActive has returned.
        case active = 10
        /// The first didEnterBackground has returned.
        case background = 11
        /// The jobs that the app deferred with `afterLaunch` are done.
        case afterLaunch = 12
    }

    public enum SceneRequest: Equatable, Sendable {
        /// Bring a scene to the foreground; nil asks for a new scene.
        case activate(session: String?, AppContent)
        /// Let a scene in the background update itself.
        case refresh(session: String)
        /// Close a scene for good.
        case destroy(session: String)
    }
}

extension AppReport {
    func encoded() throws(WireError) -> [UInt8] { try frame.encoded() }

    private var frame: AppFrame {
        switch self {
        case .acknowledged(let cookie, let handled):
            return AppFrame(.acknowledged, cookie: cookie, status: handled ? 0 : 1)
        case .launchStep(let step, let instant, let session):
            return AppFrame(
                .launchStep, cookie: instant, status: step.rawValue, words: Self.words(session))
        case .callbackOverran(let name, let duration):
            return AppFrame(.callbackOverran, cookie: duration.wholeNanoseconds, words: [name])
        case .didDrawFirstFrame(let instant, let session):
            return AppFrame(.didDrawFirstFrame, cookie: instant, words: Self.words(session))
        case .requestScene(.activate(let session, let content), let cookie):
            var frame = AppFrame(.requestScene, cookie: cookie, words: Self.words(session))
            content.add(to: &frame.fields)
            return frame
        case .requestScene(.refresh(let session), let cookie):
            return AppFrame(.requestScene, cookie: cookie, status: 1, words: [session])
        case .requestScene(.destroy(let session), let cookie):
            return AppFrame(.requestScene, cookie: cookie, status: 2, words: [session])
        case .openURL(let url, let cookie):
            return AppFrame(.openURL, cookie: cookie, words: [url])
        case .state(let state, let session, let cookie):
            return state.frame(session: session, cookie: cookie)
        case .background(let report): return report.frame
        case .launchTask(let name, let isFinished, let instant):
            return AppFrame(
                .launchTask, cookie: instant, status: isFinished ? 1 : 0, words: [name])
        case .launchSteps(let steps): return steps.frame
        case .subscribesToMetrics(let wants):
            return AppFrame(.subscribesToMetrics, status: wants ? 1 : 0)
        }
    }

    private static func words(_ session: String?) -> [String] { session.map { [$0] } ?? [] }

    init(_ frame: AppFrame) throws(WireError) {
        switch frame.type {
        case .acknowledged: self = .acknowledged(cookie: frame.cookie, handled: frame.status == 0)
        case .launchStep:
            guard let step = LaunchStep(rawValue: frame.status) else {
                throw .unknownValue(frame.status, type: frame.type.rawValue)
            }
            self = .launchStep(step, at: frame.cookie, session: frame.word(0))
        case .callbackOverran:
            guard let name = frame.word(0) else { throw .malformedStrings }
            self = .callbackOverran(
                name, duration: .nanoseconds(Int64(clamping: frame.cookie)))
        case .didDrawFirstFrame:
            self = .didDrawFirstFrame(at: frame.cookie, session: frame.word(0))
        case .requestScene:
            self = .requestScene(try SceneRequest(frame), cookie: frame.cookie)
        case .openURL:
            guard let url = frame.word(0) else { throw .malformedStrings }
            self = .openURL(url, cookie: frame.cookie)
        case .launchTask:
            guard let name = frame.word(0) else { throw .malformedStrings }
            self = .launchTask(name, isFinished: frame.status != 0, at: frame.cookie)
        case .launchSteps: self = .launchSteps(LaunchSteps(frame))
        case .subscribesToMetrics: self = .subscribesToMetrics(frame.status != 0)
        case .saveState, .extendRestoration, .completeRestoration:
            self = .state(
                try StateReport(frame), session: frame.word(0), cookie: frame.cookie)
        case .launch, .lifecycle, .connectScene, .scene, .discardScenes, .deliver, .answer,
            .credentials, .handleEvents, .restoreState, .backgroundTime, .backgroundTimeExpires,
            .runTask,
            .pendingTasks, .expireTask, .metrics, .diagnostics:
            throw .unknownType(frame.type.rawValue)
        case .beginBackgroundTask:
            self = .background(.begin(identifier: frame.cookie, name: frame.word(0)))
        case .endBackgroundTask: self = .background(.end(identifier: frame.cookie))
        case .submitTask:
            self = .background(.submit(try TaskSubmission(frame), cookie: frame.cookie))
        case .taskRequests:
            self = .background(.query(try TaskQuery(frame), cookie: frame.cookie))
        case .completedTask: self = .background(try Background(completion: frame))
        }
    }
}

extension AppReport.SceneRequest {
    fileprivate init(_ frame: AppFrame) throws(WireError) {
        switch (frame.status, frame.word(0)) {
        case (0, let session): self = .activate(session: session, AppContent(frame.fields))
        case (1, let session?): self = .refresh(session: session)
        case (2, let session?): self = .destroy(session: session)
        case (1, nil), (2, nil): throw .malformedStrings
        default: throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
    }
}

extension Duration {
    /// The whole nanoseconds; 0 for a negative duration.
    fileprivate var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product &+ UInt64(attoseconds / 1_000_000_000)
    }
}
