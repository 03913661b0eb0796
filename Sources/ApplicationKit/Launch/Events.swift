internal import Glibc
internal import GreenroomAppChannel

/// Handles the daemon's events. Each is acknowledged after its callbacks have returned and, if a
/// callback has a completion handler, after the app has called the handler.
extension Application {
    func handle(_ event: AppEvent, descriptors: [CInt]) {
        if let cookie = event.stepCookie, cookie != 0 {
            // A restarted daemon repeats a step if it does not know that the app has taken it.
            guard cookie > lastStep else { return acknowledge(cookie) }
            lastStep = cookie
        }
        switch event {
        case .launch(let launch):
            // A process can be launched only once.
            channel?.send(.error(errno: EPROTO, cookie: launch.cookie))
        case .credentials(let cookie):
            if let file = descriptors.first { credentials.replace(with: file) }
            acknowledge(cookie)
            return
        case .lifecycle(let lifecycle, let cookie): handle(lifecycle, cookie: cookie)
        case .connectScene(let connection): connect(connection)
        case .scene(let transition, let session, let cookie):
            move(session, transition)
            acknowledge(cookie)
        case .discardScenes(let identifiers, let cookie):
            discard(identifiers)
            acknowledge(cookie)
        case .deliver(let content, let identifier, let cookie):
            let scene = identifier.flatMap { session(withIdentifier: $0) }?.scene
            deliver(content, to: scene) { self.acknowledge(cookie, handled: $0) }
        case .handleEvents(let reason, let content, let cookie):
            handleEvents(for: reason, content)
            acknowledge(cookie)
        case .restoreState(let saved, let session, let cookie):
            restoreLate(saved, session: session, cookie: cookie)
        case .metrics(let reports, let cookie):
            acknowledge(cookie, handled: MetricManager.shared.receive(reports))
        case .diagnostics(let reports, let cookie):
            acknowledge(cookie, handled: MetricManager.shared.receive(reports))
        case .askAgain: askAgain()
        case .answer(let request, let answer):
            requests.removeValue(forKey: request)?.answered(answer)
        case .background(let event): handle(event)
        }
        for descriptor in descriptors { close(descriptor) }
    }

    private func handle(_ event: AppEvent.Lifecycle, cookie: UInt64) {
        switch event {
        case .didBecomeActive, .willResignActive, .didEnterBackground, .willEnterForeground:
            // In an app with scenes, each scene's delegate is told the scene's own state instead.
            if !usesScenes { move(event) }
        case .willTerminate:
            saveBeforeEnd()
            disconnectScenes()
            call("applicationWillTerminate") { delegate.applicationWillTerminate(self) }
            post(Self.willTerminateNotification)
            acknowledge(cookie)
            end()
        case .didReceiveMemoryWarning:
            call("applicationDidReceiveMemoryWarning") {
                delegate.applicationDidReceiveMemoryWarning(self)
            }
            post(Self.didReceiveMemoryWarningNotification)
        case .significantTimeChange:
            call("applicationSignificantTimeChange") {
                delegate.applicationSignificantTimeChange(self)
            }
            post(Self.significantTimeChangeNotification)
        case .protectedDataWillBecomeUnavailable:
            call("applicationProtectedDataWillBecomeUnavailable") {
                delegate.applicationProtectedDataWillBecomeUnavailable(self)
            }
            post(Self.protectedDataWillBecomeUnavailableNotification)
            protectedDataWasTaken()
        case .protectedDataIsUnavailable: protectedDataWasTaken()
        case .protectedDataDidBecomeAvailable:
            protectedDataIsAvailable = true
            call("applicationProtectedDataDidBecomeAvailable") {
                delegate.applicationProtectedDataDidBecomeAvailable(self)
            }
            post(Self.protectedDataDidBecomeAvailableNotification)
        }
        acknowledge(cookie)
    }

    private func protectedDataWasTaken() {
        protectedDataIsAvailable = false
        // The daemon hands them over again after the unlock.
        credentials.drop()
    }

    /// Moves an app without scenes to another state. A callback that announces a change ("will") is
    /// called before the state changes, and a callback that reports a change ("did") after it.
    private func move(_ event: AppEvent.Lifecycle) {
        switch event {
        case .didBecomeActive:
            ownState = .active
            call("applicationDidBecomeActive") { delegate.applicationDidBecomeActive(self) }
            post(Self.didBecomeActiveNotification)
            reached(.active)
        case .willResignActive:
            call("applicationWillResignActive") { delegate.applicationWillResignActive(self) }
            post(Self.willResignActiveNotification)
            ownState = .inactive
        case .didEnterBackground:
            let wasInFront = ownState != .background
            ownState = .background
            call("applicationDidEnterBackground") { delegate.applicationDidEnterBackground(self) }
            post(Self.didEnterBackgroundNotification)
            if wasInFront { saveState() }
            reached(.background)
        case .willEnterForeground:
            call("applicationWillEnterForeground") { delegate.applicationWillEnterForeground(self) }
            post(Self.willEnterForegroundNotification)
            ownState = .inactive
        case .willTerminate, .didReceiveMemoryWarning, .significantTimeChange,
            .protectedDataWillBecomeUnavailable, .protectedDataDidBecomeAvailable,
            .protectedDataIsUnavailable:
            break
        }
    }

    // MARK: Requests

    /// The app was already running, and runs for this reason from now on. An event of the system
    /// has its own callback; requests and notifications follow in separate messages.
    private func handleEvents(for reason: AppLaunch.Reason, _ content: AppContent) {
        launchInfo.note(reason)
        guard reason.isEvent else { return }
        let launch = AppLaunch(cookie: 0, reason: reason, content: content)
        let record = LaunchRecord(.init(launch), resumeInstant: monotonicNanoseconds())
        call("application(_:handleEventsFor:options:)") {
            delegate.application(
                self, handleEventsFor: launchInfo.reason, options: LaunchOptions(record))
        }
    }

    /// Delivers content to the app delegate. After the delegate has dealt with all of it, calls
    /// `finish` with whether the delegate handled everything.
    func deliverToDelegate(_ content: AppContent, _ finish: @escaping @MainActor (Bool) -> Void) {
        let outcome = Outcome(finish)
        for url in content.urls {
            let context = OpenURLContext(url)
            outcome.add(
                call("application(_:open:options:)") {
                    delegate.application(self, open: context.url, options: context.options)
                })
        }
        let announced = content.handoffUserActivityType ?? content.userActivities.first?.type
        if let announced {
            _ = call("application(_:willContinueUserActivityWithType:)") {
                delegate.application(self, willContinueUserActivityWithType: announced)
            }
        }
        for activity in content.userActivities {
            outcome.add(
                call("application(_:continue:)") {
                    delegate.application(self, continue: UserActivity(activity))
                })
        }
        if let action = content.quickAction {
            let completion = outcome.open()
            call("application(_:performActionFor:completionHandler:)") {
                delegate.application(
                    self, performActionFor: ApplicationShortcutItem(action),
                    completionHandler: completion)
            }
        }
        if let metadata = content.cloudKitShareMetadata {
            outcome.add(
                callOptional("application(_:userDidAcceptCloudKitShareWith:)") {
                    delegate.application(self, userDidAcceptCloudKitShareWith: metadata)
                } != nil)
        }
        deliverNotification(content, outcome)
        outcome.close()
    }

    /// Delivers a notification that has arrived, or the user's answer to one.
    func deliverNotification(_ content: AppContent, _ outcome: Outcome) {
        if let response = NotificationResponse(content) {
            let completion = outcome.open()
            call("application(_:didReceive:withCompletionHandler:)") {
                delegate.application(
                    self, didReceive: response, withCompletionHandler: { completion(true) })
            }
            return
        }
        if let payload = content.remoteNotification {
            let completion = outcome.open()
            call("application(_:didReceiveRemoteNotification:fetchCompletionHandler:)") {
                delegate.application(
                    self, didReceiveRemoteNotification: payload,
                    fetchCompletionHandler: { completion($0 != .failed) })
            }
        }
        if let payload = content.localNotification {
            outcome.add(
                callOptional("application(_:didReceiveLocalNotification:)") {
                    delegate.application(self, didReceiveLocalNotification: payload)
                } != nil)
        }
    }
}

/// Combines the results of several callbacks, some of which give their results later.
@MainActor
final class Outcome {
    private var isHandled = true
    private var awaited = 1
    private let finish: @MainActor (Bool) -> Void

    init(_ finish: @escaping @MainActor (Bool) -> Void) { self.finish = finish }

    func add(_ handled: Bool) { isHandled = isHandled && handled }

    /// Makes a completion handler. Calling the handler again does nothing.
    func open() -> @MainActor (Bool) -> Void {
        awaited += 1
        var isCalled = false
        return { handled in
            guard !isCalled else { return }
            isCalled = true
            self.add(handled)
            self.close()
        }
    }

    /// Call this after the last callback was made. Completion handlers may still be called after
    /// it.
    func close() {
        awaited -= 1
        if awaited == 0 { finish(isHandled) }
    }
}

extension AppLaunch.Reason {
    /// Whether the reason is an event of the system, which no other message reports.
    fileprivate var isEvent: Bool {
        switch self {
        case .location, .timer, .socket, .path, .system: true
        case .user, .url, .quickAction, .userActivity, .remoteNotification, .scheduledTask: false
        }
    }
}

extension AppEvent {
    /// The event's cookie if the event is a step. The cookies of steps count up from 1 in the life
    /// of an app, and the daemon repeats a step with the same cookie. Other events are sent only
    /// once, and their cookies have the highest bit set.
    fileprivate var stepCookie: UInt64? {
        switch self {
        case .lifecycle(_, let cookie), .scene(_, _, let cookie), .restoreState(_, _, let cookie):
            cookie & AppReport.againBit == 0 ? cookie : nil
        case .connectScene(let connection): connection.cookie
        case .launch, .discardScenes, .deliver, .handleEvents, .credentials, .answer, .background,
            .metrics,
            .diagnostics:
            nil
        }
    }
}
