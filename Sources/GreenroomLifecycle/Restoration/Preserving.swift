// State preservation and restoration, by UIKit's rules. What is kept is an app's own (one archive for an
// app without scenes, one for each session of an app with scenes); the shell keeps the bytes, and the
// core decides what happens to them:
//
//   kept         on the way from the foreground into the background, or when a running app is told its
//                end; not while what was kept before is withheld or still being restored
//   handed over  the app's at its launch, a scene's at its connection: where the state version agrees
//                and protected data can be read; otherwise it is withheld until it can
//   on trial     from then on until the app is where it was launched to, and longer if it says so
//   deleted      when its user force-quits the app; when the app fails while it is on trial; with its
//                session; when the app has nothing to come back to
//
// Beside it, what an app must know for its one-time setup: whether it, and its version, was ever
// launched to the end.

/// What is known of what is kept for an app: the shell's word when the app is installed, and the core's
/// own from then on.
public struct KeptState: Hashable, Sendable {
    /// The state version of each archive; `SceneIdentifier.application` is the app's own.
    public var archives: [SceneIdentifier: UInt64]
    /// Sessions in order of use, and what the app has not heard of: counts after a reboot, when no
    /// record of the app is left.
    public var sessions: SessionList
    /// The version that last finished its launch; nil: none ever did.
    public var launchedVersion: UInt64?

    public init(
        archives: [SceneIdentifier: UInt64] = [:], sessions: SessionList = SessionList(),
        launchedVersion: UInt64? = nil
    ) {
        self.archives = archives
        self.sessions = sessions
        self.launchedVersion = launchedVersion
    }
}

/// Scene sessions as they are kept beyond the boot.
public struct SessionList: Hashable, Sendable {
    public var open: [SceneIdentifier]
    public var discarded: [SceneIdentifier]
    /// The youngest there ever was.
    public var last: UInt32

    public init(
        open: [SceneIdentifier] = [], discarded: [SceneIdentifier] = [], last: UInt32 = 0
    ) {
        self.open = open
        self.discarded = discarded
        self.last = last
    }
}

/// What an app says about its state.
public enum StateWish: Hashable, Sendable {
    case keep(byteCount: UInt64)
    case forget
    /// More than an archive may have, so it was not sent.
    case tooLarge(byteCount: UInt64)
    /// It needs longer than its callbacks to restore what it was given.
    case extend
    case complete
}

/// Why an archive is not taken.
public enum StateRefusal: Hashable, Sendable {
    case tooLarge(byteCount: UInt64)
    /// The app is not on its way into the background, or has saved already.
    case notNow
    /// What was kept before is not restored yet.
    case restoring
    /// The app was never shown what was kept before: its user is locked out of it.
    case withheld
    case noSuchSession
}

/// Why an archive is deleted.
public enum StateDeletion: UInt8, CaseIterable, Sendable {
    case forceQuit
    /// The app failed with it.
    case failedLaunch
    case discardedSession
    /// The app has nothing to come back to.
    case nothingToKeep
    /// Its session is gone.
    case orphaned
}

/// How far an instance is with an archive.
enum RestorationPhase: Hashable, Sendable {
    case withheld
    /// Its launch was told to wait for it.
    case announced
    case onTrial
    /// On trial until the app says that it is done.
    case extended
    /// It stood the trial.
    case restored
}

extension RestorationPhase {
    var isOnTrial: Bool {
        switch self {
        case .announced, .onTrial, .extended: true
        case .withheld, .restored: false
        }
    }
}

extension Lifecycle {
    // MARK: What there is

    /// What the shell found of an installed app. Its records know the sessions better, unless there
    /// are none.
    mutating func stateFound(_ app: AppIdentifier, _ kept: KeptState) {
        guard directory[app]?.isRemoved == false else { return }
        directory[app]!.kept = kept.archives
        directory[app]!.launchedVersion = kept.launchedVersion
        let record = directory[app]!.record
        if record.sessions.isEmpty, record.discarded.isEmpty, record.lastSession == 0,
            kept.sessions != SessionList()
        {
            updateApp(app) {
                $0.sessions = Array(kept.sessions.open.suffix(AppRecord.sessionLimit))
                $0.discarded = Array(kept.sessions.discarded.suffix(AppRecord.sessionLimit))
                $0.lastSession = kept.sessions.last
            }
        }
        let known = directory[app]!.record.sessions
        for scene in kept.archives.keys.sorted()
        where scene != .application && !known.contains(scene) {
            deleteState(scene, of: app, .orphaned)
        }
    }

    /// The shell could not read it, or not write it: there is none.
    mutating func stateLost(_ app: AppIdentifier, _ scene: SceneIdentifier) {
        directory[app]?.kept[scene] = nil
    }

    private mutating func deleteState(
        _ scene: SceneIdentifier, of app: AppIdentifier, _ reason: StateDeletion
    ) {
        guard directory[app]?.kept.removeValue(forKey: scene) != nil else { return }
        effects.append(.deleteState(app, scene))
        note(.stateDeleted(app, scene, reason))
    }

    mutating func deleteStates(of app: AppIdentifier, _ reason: StateDeletion) {
        for scene in directory[app]?.kept.keys.sorted() ?? [] {
            deleteState(scene, of: app, reason)
        }
    }

    mutating func sessionDiscarded(_ scene: SceneIdentifier, of app: AppIdentifier) {
        deleteState(scene, of: app, .discardedSession)
    }

    /// The sessions of an app are others, or in another order.
    mutating func sessionsChanged(of app: AppIdentifier) {
        guard let record = directory[app]?.record else { return }
        let list = SessionList(
            open: record.sessions, discarded: record.discarded, last: record.lastSession)
        effects.append(.keepSessions(app, list))
    }

    // MARK: Handing over

    /// Where the instance stands with what is kept for it now; nil: there is nothing for it.
    private func phase(
        of scene: SceneIdentifier, for id: InstanceIdentifier
    ) -> RestorationPhase? {
        guard let app = directory[table[id]!.record.app], let description = app.description,
            app.kept[scene] == description.stateVersion
        else { return nil }
        return lockedUsers.contains(description.user) ? .withheld : .onTrial
    }

    /// A launch of it was decided: whether it will be told to wait for its archive.
    mutating func announceState(to id: InstanceIdentifier) {
        guard let phase = phase(of: .application, for: id) else { return }
        // What is launched as another type of app is not shown it, and may turn into this type.
        let isShown = restoresAsWhole(id) && phase == .onTrial
        table[id]!.restoration[.application] = isShown ? .announced : .withheld
    }

    /// It hears of its state, and has one for all of it.
    private func restoresAsWhole(_ id: InstanceIdentifier) -> Bool {
        guard let description = directory[table[id]!.record.app]?.description else { return false }
        return description.acknowledges && description.scenes == .unsupported
    }

    /// The app's archive follows its launch.
    public func announcesState(to id: InstanceIdentifier) -> Bool {
        table[id]?.restoration[.application] == .announced
    }

    /// It runs: what was announced to it comes, or word that it does not.
    mutating func handOverAnnounced(to id: InstanceIdentifier) {
        guard table[id]!.restoration[.application] == .announced else { return }
        let now = phase(of: .application, for: id)
        table[id]!.restoration[.application] = now
        effects.append(.handOverState(id, .application, isThere: now == .onTrial))
    }

    /// A scene of it is connected next.
    mutating func prepareState(of scene: SceneIdentifier, for id: InstanceIdentifier) {
        guard scene != .application else { return }
        table[id]!.restoration[scene] = phase(of: scene, for: id)
    }

    /// The connection brings what is kept for the session.
    public func isHandedOver(_ scene: SceneIdentifier, to id: InstanceIdentifier) -> Bool {
        table[id]?.restoration[scene]?.isOnTrial == true
    }

    /// Protected data can be read again: what was withheld comes after all.
    mutating func handOverWithheld(to id: InstanceIdentifier) {
        let withheld = table[id]!.restoration.filter { $0.value == .withheld }
        for scene in withheld.keys.sorted() {
            guard phase(of: scene, for: id) == .onTrial,
                scene != .application || restoresAsWhole(id)
            else { continue }
            // Once the launch is over, what it does is told from a failed launch.
            let isLaunching = table[id]!.record.state == .launching
            table[id]!.restoration[scene] = isLaunching ? .onTrial : .restored
            effects.append(.handOverState(id, scene, isThere: true))
        }
    }

    /// Everything is where it shall be: what was handed over did no harm.
    mutating func trialIsOver(for id: InstanceIdentifier) {
        for (scene, phase) in table[id]!.restoration where phase == .onTrial {
            table[id]!.restoration[scene] = .restored
        }
    }

    /// It has ended: what was on trial is not met again, if it was at fault.
    mutating func judgeState(_ record: InstanceRecord) {
        let onTrial = table[record.instance]!.restoration.filter(\.value.isOnTrial).keys.sorted()
        table[record.instance]!.restoration = [:]
        guard record.isFailure else { return }
        for scene in onTrial { deleteState(scene, of: record.app, .failedLaunch) }
    }

    /// The state version of each archive that is kept of an app.
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
        case .extend: return extend(scene, of: id)
        case .complete: return complete(scene, of: id)
        case .keep, .forget, .tooLarge: break
        }
        if let refusal = refusal(record, scene, wish) {
            effects.append(.refuseState(id, scene, refusal))
            return note(.stateRefused(id, record.app, scene, refusal))
        }
        table[id]!.savedScenes.insert(scene)
        if wish == .forget {
            return deleteState(scene, of: record.app, .nothingToKeep)
        }
        directory[record.app]!.kept[scene] = directory[record.app]!.description!.stateVersion
        effects.append(.keepState(id, record.app, scene))
        note(.stateKept(id, record.app, scene))
    }

    private func refusal(
        _ record: InstanceRecord, _ scene: SceneIdentifier, _ wish: StateWish
    ) -> StateRefusal? {
        let instance = table[record.instance]!
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

    /// It was told to leave the foreground, or to end in peace, and has not said that it has.
    private func isLeaving(_ record: InstanceRecord, _ scene: SceneIdentifier) -> Bool {
        guard let conversation = record.conversation, let pending = conversation.pending,
            record.exitStatus == nil,
            let activation = conversation.scenes.first(where: { $0.scene == scene })?.activation,
            activation == .foregroundActive || activation == .foregroundInactive
        else { return false }
        if record.state == .terminating {
            return pending.step == .willTerminate && record.endReason != .forceQuit
        }
        return pending.step == .didEnterBackground && pending.scene == scene
    }

    // MARK: Long restorations

    private mutating func extend(_ scene: SceneIdentifier, of id: InstanceIdentifier) {
        switch table[id]!.restoration[scene] {
        case .onTrial?, .restored?: table[id]!.restoration[scene] = .extended
        // What was never handed over is not being restored.
        case .withheld?, .announced?, .extended?, nil: break
        }
    }

    private mutating func complete(_ scene: SceneIdentifier, of id: InstanceIdentifier) {
        guard table[id]!.restoration[scene] == .extended else { return }
        let conversation = table[id]!.record.conversation
        let isThere = conversation.map { $0.pending == nil && $0.next == nil } ?? false
        table[id]!.restoration[scene] = isThere ? .restored : .onTrial
    }

    // MARK: One-time setup

    /// Whether the app, and this version of it, has never finished a launch.
    public func isFirstLaunch(of app: AppIdentifier) -> (ever: Bool, ofVersion: Bool) {
        guard let entry = directory[app], let description = entry.description else {
            return (true, true)
        }
        return (entry.launchedVersion == nil, entry.launchedVersion != description.version)
    }

    /// The first launch is over when it has succeeded, so that a setup that failed is tried again.
    mutating func finishedLaunching(_ app: AppIdentifier) {
        guard let version = directory[app]?.description?.version,
            directory[app]!.launchedVersion != version
        else { return }
        directory[app]!.launchedVersion = version
        effects.append(.noteVersion(app))
    }

    // MARK: Coming back

    /// A former supervisor launched it, and perhaps could not send what it had announced.
    mutating func reannounceState(to id: InstanceIdentifier) {
        let record = table[id]!.record
        // The order to end it may be all that was done.
        if record.state == .terminating, record.endReason == .forceQuit {
            deleteStates(of: record.app, .forceQuit)
        }
        guard record.state == .launching, record.conversation == nil else { return }
        announceState(to: id)
        guard record.launchedAt != nil, restoresAsWhole(id) else { return }
        let phase = table[id]!.restoration[.application]
        if phase == .announced { return handOverAnnounced(to: id) }
        effects.append(.handOverState(id, .application, isThere: false))
    }
}

extension InstanceRecord {
    /// Nobody wanted this end, and the program is to blame for it.
    fileprivate var isFailure: Bool {
        switch endReason {
        case .crashed?, .watchdog?, .launchWatchdog?, .outOfMemory?: true
        case .exitedSelf?: exitStatus != ExitStatus.exited(0)
        case .terminated?, .terminateTimeout?, .forceQuit?, .prewarmFailed?, .prewarmExpired?,
            .stale?, .reclaimed?, .poolTrimmed?, .resumeFailed?, .shutdown?, .spawnFailed?,
            .unknown?, .conflict?, .dependencyEnded?, .suspendedWithLockedFile?,
            .probablyOutOfMemory?, .backgroundTaskTimeout?, nil:
            false
        }
    }
}
