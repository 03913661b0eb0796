// State preservation and restoration, by UIKit's rules. Archives belong to an app: one for an app
// without scenes, one for each session of an app with scenes. The shell keeps the bytes, and the
// core decides what happens to them:
//
//   kept         on the way from the foreground to the background, or when a running app is told to
//                end; not while the former archive is withheld or still being restored
//   handed over  an app's archive at its launch, a scene's at its connection, if the state version
//                is the same and protected data can be read; if it cannot, withheld until it can
//   on trial     from then until the app has reached its goal, and longer if the app says so
//                (`HandingOver`)
//   deleted      when its user force-quits the app; when the app fails while it is on trial; with
//                its session; when the app says that it has nothing to keep
//
// This file also keeps what an app must know for its one-time setup: whether the app, and whether
// this version of the app, has ever finished a launch.

extension Lifecycle {
    // MARK: What there is

    /// The shell has found state for an installed app. The sessions in the record, if any, take
    /// precedence over those that were found.
    mutating func stateFound(_ app: AppIdentifier, _ kept: KeptState) {
        guard directory[app]?.isRemoved == false else { return }
        self[app].kept = kept.archives
        self[app].launchedVersions = kept.launchedVersions
        let record = self[app].record
        if record.sessions.isEmpty, record.discarded.isEmpty, record.lastSession == 0,
            kept.sessions != SessionList()
        {
            updateApp(app) {
                $0.sessions = Array(kept.sessions.open.suffix(AppRecord.sessionLimit))
                $0.discarded = Array(kept.sessions.discarded.suffix(AppRecord.sessionLimit))
                $0.lastSession = kept.sessions.last
            }
        }
        let known = self[app].record.sessions
        for scene in kept.archives.keys.sorted()
        where scene != .application && !known.contains(scene) {
            deleteState(scene, of: app, .orphaned)
        }
    }

    /// The shell could not read or write the archive, so the archive is gone.
    mutating func stateLost(_ app: AppIdentifier, _ scene: SceneIdentifier) {
        directory[app]?.kept[scene] = nil
    }

    mutating func deleteState(
        _ scene: SceneIdentifier, of app: AppIdentifier, _ reason: StateDeletion
    ) {
        guard directory[app]?.kept.removeValue(forKey: scene) != nil else { return }
        effects.append(.deleteState(app, scene))
        report(.stateDeleted(app, scene, reason))
    }

    mutating func deleteStates(of app: AppIdentifier, _ reason: StateDeletion) {
        for scene in directory[app]?.kept.keys.sorted() ?? [] {
            deleteState(scene, of: app, reason)
        }
    }

    mutating func sessionDiscarded(_ scene: SceneIdentifier, of app: AppIdentifier) {
        deleteState(scene, of: app, .discardedSession)
    }

    /// The app's scene sessions or their order have changed.
    mutating func sessionsChanged(of app: AppIdentifier) {
        guard let record = directory[app]?.record else { return }
        let list = SessionList(
            open: record.sessions, discarded: record.discarded, last: record.lastSession)
        effects.append(.keepSessions(app, list))
    }

    /// The state version of each archive that is kept for the app.
    public func keptStates(of app: AppIdentifier) -> [SceneIdentifier: UInt64] {
        directory[app]?.kept ?? [:]
    }

    // MARK: Keeping

    mutating func stateReported(
        _ id: InstanceIdentifier, _ scene: SceneIdentifier, _ wish: StateWish
    ) {
        guard let record = table[id]?.record, directory[record.app]?.description != nil else {
            return
        }
        switch wish {
        case .extend: return extendTrial(of: scene, for: id)
        case .complete: return completeTrial(of: scene, for: id)
        case .keep, .forget, .tooLarge: break
        }
        if let refusal = refusal(record, scene, wish) {
            effects.append(.refuseState(id, scene, refusal))
            return report(.stateRefused(id, record.app, scene, refusal))
        }
        self[id].savedScenes.insert(scene)
        if wish == .forget {
            return deleteState(scene, of: record.app, .nothingToKeep)
        }
        self[record.app].kept[scene] = self[record.app].description!.stateVersion
        effects.append(.keepState(id, record.app, scene))
        report(.stateKept(id, record.app, scene))
    }

    private func refusal(
        _ record: InstanceRecord, _ scene: SceneIdentifier, _ wish: StateWish
    ) -> StateRefusal? {
        let instance = self[record.instance]
        guard isSession(scene, of: record) else { return .noSuchSession }
        guard isLeaving(record, scene), !instance.savedScenes.contains(scene) else {
            return .notNow
        }
        switch instance.restoration[scene] {
        case .withheld?: return .withheld
        case .announced?, .extended?: return .restoring
        case .onTrial?, .restored?, nil: break
        }
        if case .tooLarge(let byteCount) = wish { return .tooLarge(byteCount: byteCount) }
        if case .keep(let byteCount) = wish, byteCount > policy.stateByteLimit {
            return .tooLarge(byteCount: byteCount)
        }
        return nil
    }

    private func isSession(_ scene: SceneIdentifier, of record: InstanceRecord) -> Bool {
        guard let app = directory[record.app] else { return false }
        if app.description?.scenes == .unsupported { return scene == .application }
        return app.record.sessions.contains(scene)
    }

    /// Whether the instance was told to leave the foreground, or to end gently, and has not
    /// acknowledged that.
    private func isLeaving(_ record: InstanceRecord, _ scene: SceneIdentifier) -> Bool {
        guard let conversation = record.conversation, let pending = conversation.pending,
            record.exitStatus == nil,
            let activation = conversation.scenes.first(where: { $0.scene == scene })?.activation,
            activation == .foregroundActive || activation == .foregroundInactive
        else { return false }
        if record.state == .terminating {
            return pending.step == .willTerminate && record.endReason?.row.state == .kept
        }
        return pending.step == .didEnterBackground && pending.scene == scene
    }

    // MARK: One-time setup

    /// Whether the app, and whether this version of the app, has never finished a launch.
    public func isFirstLaunch(of app: AppIdentifier) -> (ever: Bool, ofVersion: Bool) {
        guard let entry = directory[app], let description = entry.description else {
            return (true, true)
        }
        let versions = entry.launchedVersions
        return (versions.isEmpty, !versions.contains(description.version))
    }

    /// The first launch counts only once it has succeeded, so that a setup that failed is repeated.
    mutating func finishedLaunching(_ app: AppIdentifier) {
        guard let version = directory[app]?.description?.version,
            self[app].launchedVersions.first != version
        else { return }
        self[app].launchedVersions.removeAll { $0 == version }
        self[app].launchedVersions.insert(version, at: 0)
        self[app].launchedVersions = Array(
            self[app].launchedVersions.prefix(KeptState.versionLimit))
        effects.append(.noteVersion(app))
    }

}
