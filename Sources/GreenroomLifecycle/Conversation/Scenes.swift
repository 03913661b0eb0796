// Scene sessions. A session belongs to an app and outlives its processes. While an instance runs,
// the session may be connected as a scene. A launch connects the session used last, or creates the
// first one. Discarding ends a session for good: its scene is disconnected, and the app is told at
// once if it runs, otherwise at its next launch.

/// Whether an app has scenes, and how many at once.
public enum SceneSupport: UInt8, Sendable {
    case unsupported
    case single
    case multiple
}

/// What can be asked of an app's scenes.
public enum SceneRequest: Hashable, Sendable {
    /// Brings the session's scene to the front; if nil, the scene of a new session.
    case activate(SceneIdentifier?)
    case background(SceneIdentifier)
    /// Disconnects the scene. Its session stays.
    case disconnect(SceneIdentifier)
    /// Disconnects the scene and ends its session.
    case discard(SceneIdentifier)
}

extension AppRecord {
    /// At most this many sessions of an app are remembered, and at most this many discarded ones
    /// that the app was not told about. Sessions stand for an app's windows, not for its history.
    public static let sessionLimit = 8
}

extension Lifecycle {
    /// The session that a launch connects: the one used last, or a new one.
    mutating func latestSession(of app: AppIdentifier) -> SceneIdentifier {
        if let last = self[app].record.sessions.last { return last }
        return newSession(of: app)
    }

    private mutating func newSession(of app: AppIdentifier) -> SceneIdentifier {
        let next = self[app].record.lastSession &+ 1
        // 0 stands for the app itself.
        let scene = SceneIdentifier(next == 0 ? 1 : next)
        updateApp(app) {
            $0.lastSession = scene.rawValue
            $0.sessions.append(scene)
        }
        sessionsChanged(of: app)
        return scene
    }

    private mutating func touchSession(_ scene: SceneIdentifier, of app: AppIdentifier) {
        guard self[app].record.sessions.last != scene else { return }
        updateApp(app) { record in
            record.sessions.removeAll { $0 == scene }
            record.sessions.append(scene)
        }
        sessionsChanged(of: app)
    }

    mutating func sceneRequested(
        _ request: RequestIdentifier, _ app: AppIdentifier, _ wish: SceneRequest
    ) {
        if let refusal = sceneRefusal(app, wish) { return refuse(request, refusal) }
        let running = self[app].running.filter { self[$0].record.manner == .acknowledging }
        if case .discard(let scene) = wish {
            return discard(scene, of: app, running.max(by: isUsedBefore), request)
        }
        guard let id = running.max(by: isUsedBefore) else {
            return refuse(request, .notRunning(.app(app)))
        }
        if let refusal = crowdRefusal(id, wish) { return refuse(request, refusal) }
        if self[id].record.state == .suspended { thaw(id) }
        waitForGoal(request, of: id)
        switch wish {
        case .activate(let scene): activateScene(scene, of: id)
        case .background(let scene): setGoal(.background, of: scene, in: id)
        case .disconnect(let scene): setGoal(.disconnected, of: scene, in: id)
        case .discard: break
        }
    }

    private func sceneRefusal(_ app: AppIdentifier, _ wish: SceneRequest) -> Refusal? {
        guard let entry = directory[app], let description = entry.description else {
            return .noSuchApp(app)
        }
        guard description.scenes != .unsupported else { return .noScenes(app) }
        switch wish {
        case .activate(nil):
            if description.scenes == .single, !entry.record.sessions.isEmpty {
                return .singleScene(app)
            }
            if entry.record.sessions.count >= AppRecord.sessionLimit {
                return .tooManyScenes(app, limit: AppRecord.sessionLimit)
            }
            return nil
        case .activate(let scene?), .background(let scene), .disconnect(let scene),
            .discard(let scene):
            return entry.record.sessions.contains(scene) ? nil : .noSuchScene(app, scene)
        }
    }

    /// Refuses a scene beyond the limit. Scenes that are being disconnected count until they are
    /// gone.
    private func crowdRefusal(_ id: InstanceIdentifier, _ wish: SceneRequest) -> Refusal? {
        let scenes = self[id].record.dialogue.scenes
        guard case .activate(let wanted) = wish, scenes.count >= Conversation.sceneLimit,
            !scenes.contains(where: { $0.scene == wanted })
        else { return nil }
        return .tooManyScenes(self[id].record.app, limit: Conversation.sceneLimit)
    }

    private mutating func activateScene(_ wanted: SceneIdentifier?, of id: InstanceIdentifier) {
        let app = self[id].record.app
        let scene = wanted ?? newSession(of: app)
        touchSession(scene, of: app)
        update(id) { record in
            var scenes = record.dialogue.scenes
            var entry =
                scenes.first { $0.scene == scene }
                ?? SceneRecord(scene: scene, goal: .foreground)
            entry.goal = .foreground
            scenes.removeAll { $0.scene == scene }
            scenes.append(entry)
            record.dialogue.scenes = scenes
        }
        activate(id)
    }

    private mutating func setGoal(
        _ goal: SceneGoal, of scene: SceneIdentifier, in id: InstanceIdentifier
    ) {
        update(id) { record in
            for index in record.dialogue.scenes.indices
            where record.dialogue.scenes[index].scene == scene {
                record.dialogue.scenes[index].goal = goal
            }
            // If the app was never told about a scene, the scene need not be disconnected.
            let told = record.dialogue.pending?.scene
            record.dialogue.scenes.removeAll {
                $0.goal == .disconnected && !$0.isConnected && $0.scene != told
            }
        }
        guard !self[id].record.dialogue.wantsForeground else { return proceed(id) }
        sendBack(id)
    }

    private mutating func discard(
        _ scene: SceneIdentifier, of app: AppIdentifier, _ running: InstanceIdentifier?,
        _ request: RequestIdentifier
    ) {
        updateApp(app) { record in
            record.sessions.removeAll { $0 == scene }
            record.discarded.append(scene)
            record.discarded.removeFirst(max(0, record.discarded.count - AppRecord.sessionLimit))
        }
        sessionDiscarded(scene, of: app)
        sessionsChanged(of: app)
        guard let id = running else { return answer(request, .discarded(app, scene)) }
        if self[id].record.state != .suspended {
            setGoal(.disconnected, of: scene, in: id)
            tellDiscarded(id)
        } else {
            // A suspended app is told when it runs again.
            update(id) { record in
                record.dialogue.scenes.removeAll { $0.scene == scene }
            }
        }
        answer(request, .discarded(app, scene))
    }

    /// `application(_:didDiscardSceneSessions:)`
    mutating func tellDiscarded(_ id: InstanceIdentifier) {
        let app = self[id].record.app
        guard let discarded = directory[app]?.record.discarded, !discarded.isEmpty else { return }
        updateApp(app) { $0.discarded = [] }
        sessionsChanged(of: app)
        effects.append(.notify(id, .discardedSessions(discarded)))
    }

    /// The request is answered once every scene of the instance has reached its goal.
    mutating func waitForGoal(_ request: RequestIdentifier, of id: InstanceIdentifier) {
        self[id].goalWaiters.append(request)
        requests[request] = .goal(id)
    }
}
