internal import Glibc
internal import GreenroomAppChannel

/// Requests of the app to the system. In an app that is run by hand, the library itself connects
/// and closes scenes, and refuses every other request.
extension Application {
    /// Brings a scene to the foreground, or makes a new scene if `session` is nil; UIKit's
    /// `UIApplication.requestSceneSessionActivation(_:userActivity:options:errorHandler:)`.
    /// - Parameters:
    ///   - userActivity: an activity for the scene to continue.
    ///   - errorHandler: called on the main thread if the request is refused, for example because
    ///     the manifest does not allow several scenes.
    public func requestSceneSessionActivation(
        _ session: SceneSession?, userActivity: UserActivity? = nil,
        errorHandler: (@MainActor (RequestError) -> Void)? = nil
    ) {
        var content = AppContent()
        if let userActivity { content.userActivities = [userActivity.activity] }
        let identifier = session?.persistentIdentifier
        guard channel != nil else {
            return activateByHand(identifier, content)
        }
        ask({ .requestScene(.activate(session: identifier, content), cookie: $0) }) {
            if case .refused(let code, let reason) = $0 {
                errorHandler?(RequestError(code: code, description: reason))
            }
        }
    }

    /// Asks for a scene in the background to be updated; UIKit's
    /// `UIApplication.requestSceneSessionRefresh(_:)`.
    public func requestSceneSessionRefresh(_ session: SceneSession) {
        ask({ .requestScene(.refresh(session: session.persistentIdentifier), cookie: $0) }) { _ in }
    }

    /// Closes a scene and deletes its session; UIKit's
    /// `UIApplication.requestSceneSessionDestruction(_:options:errorHandler:)`.
    /// - Parameter errorHandler: called on the main thread if the request is refused.
    public func requestSceneSessionDestruction(
        _ session: SceneSession, errorHandler: (@MainActor (RequestError) -> Void)? = nil
    ) {
        let identifier = session.persistentIdentifier
        guard channel != nil else {
            ownEvents += [
                .scene(.didDisconnect, session: identifier, cookie: 0),
                .discardScenes([identifier], cookie: 0),
            ]
            return
        }
        ask({ .requestScene(.destroy(session: identifier), cookie: $0) }) {
            if case .refused(let code, let reason) = $0 {
                errorHandler?(RequestError(code: code, description: reason))
            }
        }
    }

    /// Opens a URL in the app that handles it; UIKit's
    /// `UIApplication.open(_:options:completionHandler:)`.
    /// - Throws: ``RequestError``, for example if no app handles the URL.
    public func open(_ url: String) async throws(RequestError) {
        let answer = await withCheckedContinuation { continuation in
            ask({ .openURL(url, cookie: $0) }) { continuation.resume(returning: $0) }
        }
        if case .refused(let code, let reason) = answer {
            throw RequestError(code: code, description: reason)
        }
    }

    func ask(
        _ report: @escaping (UInt64) -> AppReport,
        _ answered: @escaping @MainActor (AppEvent.Answer) -> Void
    ) {
        guard let channel else {
            return answered(.refused(code: ENOTCONN, reason: "the app runs without Greenroom"))
        }
        guard requests.count < AppLimits.requests else {
            return answered(
                .refused(code: EAGAIN, reason: "too many requests wait for their answers"))
        }
        requestCount += 1
        requests[requestCount] = OpenRequest(report: report, answered: answered)
        channel.send(.report(report(requestCount)))
    }

    /// Sends all unanswered requests again, marked as repeated: a restarted daemon has lost those
    /// that its predecessor had read.
    func askAgain() {
        for (cookie, request) in requests.sorted(by: { $0.key < $1.key }) {
            channel?.send(.report(request.report(cookie | AppReport.againBit)))
        }
        for cookie in listRequests.keys { report(.background(.query(.list, cookie: cookie))) }
        note(.launchSteps(launchInfo.told(drawnAt: drawnAt)))
    }

    func listTaskRequests(
        _ answered: @escaping @MainActor ([TaskSubmission]) -> Void
    ) {
        requestCount += 1
        listRequests[requestCount] = answered
        report(.background(.query(.list, cookie: requestCount)))
    }

    private func activateByHand(_ identifier: String?, _ content: AppContent) {
        let session = identifier ?? String(sessions.count + 1)
        if self.session(withIdentifier: session)?.scene == nil {
            ownEvents.append(
                .connectScene(SceneConnection(session: session, content: content, cookie: 0)))
        }
        ownEvents += [
            .scene(.willEnterForeground, session: session, cookie: 0),
            .scene(.didBecomeActive, session: session, cookie: 0),
        ]
        wake()
    }
}

/// A request that the daemon has not answered.
struct OpenRequest {
    let report: (_ cookie: UInt64) -> AppReport
    let answered: @MainActor (AppEvent.Answer) -> Void
}
