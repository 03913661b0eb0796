// What happens to an archive from the moment an instance is told about it. At first the archive is
// on trial: if the app fails during that time, the archive may be the cause and is deleted, so that
// later launches do not fail too.

/// How far the instance's restoration from an archive is.
enum RestorationPhase: Hashable, Sendable {
    /// Protected data cannot be read. The archive is handed over when it can be read.
    case withheld
    /// The instance was told at its launch to wait for the archive.
    case announced
    /// The archive was handed over and is not known to be harmless yet.
    case onTrial
    /// The archive is on trial until the app says that it has finished restoring.
    case extended
    /// The archive did no harm.
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
    // MARK: Handing over

    /// The phase in which a restoration of the scene would begin now; nil if nothing is kept for
    /// the scene.
    private func phase(
        of scene: SceneIdentifier, for id: InstanceIdentifier
    ) -> RestorationPhase? {
        guard let app = directory[self[id].record.app], let description = app.description,
            app.kept[scene] == description.stateVersion
        else { return nil }
        return lockedUsers.contains(description.user) ? .withheld : .onTrial
    }

    /// Decides, when a launch is assigned to the instance, whether the instance is told to wait for
    /// its archive.
    mutating func announceState(to id: InstanceIdentifier) {
        guard let phase = phase(of: .application, for: id) else { return }
        // The archive may date from a time when the app was of another type. It is then withheld,
        // because the app may change back.
        let isShown = restoresAsWhole(id) && phase == .onTrial
        self[id].restoration[.application] = isShown ? .announced : .withheld
    }

    /// Whether the app acknowledges its states and has one archive for the whole app.
    private func restoresAsWhole(_ id: InstanceIdentifier) -> Bool {
        let app = self[id].record.app
        return manner(of: app) == .acknowledging
            && directory[app]?.description?.scenes == .unsupported
    }

    /// Whether the instance is told at its launch that the app's archive follows.
    public func announcesState(to id: InstanceIdentifier) -> Bool {
        table[id]?.restoration[.application] == .announced
    }

    /// Called when the instance runs. Hands over the archive that was announced to it, or tells it
    /// that none will come.
    mutating func handOverAnnounced(to id: InstanceIdentifier) {
        guard self[id].restoration[.application] == .announced else { return }
        let now = phase(of: .application, for: id)
        self[id].restoration[.application] = now
        effects.append(.handOverState(id, .application, isThere: now == .onTrial))
    }

    /// A scene of the instance is about to be connected.
    mutating func prepareState(of scene: SceneIdentifier, for id: InstanceIdentifier) {
        guard scene != .application else { return }
        self[id].restoration[scene] = phase(of: scene, for: id)
    }

    /// Whether the connection of the scene brings what is kept for its session.
    public func isHandedOver(_ scene: SceneIdentifier, to id: InstanceIdentifier) -> Bool {
        table[id]?.restoration[scene]?.isOnTrial == true
    }

    /// Protected data can be read again: hands over what was withheld.
    mutating func handOverWithheld(to id: InstanceIdentifier) {
        let withheld = self[id].restoration.filter { $0.value == .withheld }
        for scene in withheld.keys.sorted() {
            guard phase(of: scene, for: id) == .onTrial,
                scene != .application || restoresAsWhole(id)
            else { continue }
            // An archive that is handed over after the launch is not blamed for a failure of the
            // app.
            let isLaunching = self[id].record.state == .launching
            self[id].restoration[scene] = isLaunching ? .onTrial : .restored
            effects.append(.handOverState(id, scene, isThere: true))
        }
    }

    /// Every scene has reached its goal, so the archives that were handed over did no harm.
    mutating func trialIsOver(for id: InstanceIdentifier) {
        for (scene, phase) in self[id].restoration where phase == .onTrial {
            self[id].restoration[scene] = .restored
        }
    }

    /// The instance has ended: deletes the archives that were on trial, if the app failed.
    mutating func judgeState(_ record: InstanceRecord) {
        let onTrial = self[record.instance].restoration.filter(\.value.isOnTrial).keys.sorted()
        self[record.instance].restoration = [:]
        guard record.isFailure else { return }
        for scene in onTrial { deleteState(scene, of: record.app, .failedLaunch) }
    }

    // MARK: Long restorations

    mutating func extendTrial(of scene: SceneIdentifier, for id: InstanceIdentifier) {
        switch self[id].restoration[scene] {
        case .onTrial?, .restored?: self[id].restoration[scene] = .extended
        // The app is not restoring from an archive that was not handed over.
        case .withheld?, .announced?, .extended?, nil: break
        }
    }

    mutating func completeTrial(of scene: SceneIdentifier, for id: InstanceIdentifier) {
        guard self[id].restoration[scene] == .extended else { return }
        let isInterrupted = isInterrupted(id)
        let isThere =
            self[id].record.conversation.map {
                $0.pending == nil && $0.next(isInterrupted: isInterrupted) == nil
            } ?? false
        self[id].restoration[scene] = isThere ? .restored : .onTrial
    }

    // MARK: Coming back

    /// A former supervisor launched the instance, and may not have sent the archive that it had
    /// announced.
    mutating func announceStateAgain(to id: InstanceIdentifier) {
        let record = self[id].record
        // The supervisor may have died after it had saved the end and before it had deleted the
        // archives.
        if record.state == .terminating, record.endReason?.row.state == .deleted {
            deleteStates(of: record.app, .forceQuit)
        }
        guard record.isUndecided || record.phase == .starting else { return }
        announceState(to: id)
        guard record.launchedAt != nil, restoresAsWhole(id) else { return }
        let phase = self[id].restoration[.application]
        if phase == .announced { return handOverAnnounced(to: id) }
        effects.append(.handOverState(id, .application, isThere: false))
    }
}

extension InstanceRecord {
    /// Whether nobody ordered this end, so that the program is to blame.
    fileprivate var isFailure: Bool {
        switch endReason?.row.blame ?? .never {
        case .always: true
        case .unlessZero: exitStatus != ExitStatus.exited(0)
        case .never: false
        }
    }
}
