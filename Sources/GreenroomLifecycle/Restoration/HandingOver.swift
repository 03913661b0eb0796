// What becomes of an archive from the moment when an instance is told of it. It is on trial at first: if the app
// fails meanwhile, the archive is at fault and is deleted, lest every launch fail.

/// How far an instance is with an archive.
enum RestorationPhase: Hashable, Sendable {
    /// Protected data cannot be read; handed over once it can.
    case withheld
    /// Its launch was told to wait for it.
    case announced
    /// Handed over, and not known yet to do no harm.
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
    // MARK: Handing over

    /// Where the instance stands with what is kept for it now; nil: there is nothing for it.
    private func phase(
        of scene: SceneIdentifier, for id: InstanceIdentifier
    ) -> RestorationPhase? {
        guard let app = directory[self[id].record.app], let description = app.description,
            app.kept[scene] == description.stateVersion
        else { return nil }
        return lockedUsers.contains(description.user) ? .withheld : .onTrial
    }

    /// A launch of it was decided: whether it will be told to wait for its archive.
    mutating func announceState(to id: InstanceIdentifier) {
        guard let phase = phase(of: .application, for: id) else { return }
        // What is launched as another type of app is not shown it, and may turn into this type.
        let isShown = restoresAsWhole(id) && phase == .onTrial
        self[id].restoration[.application] = isShown ? .announced : .withheld
    }

    /// It hears of its state, and has one for all of it.
    private func restoresAsWhole(_ id: InstanceIdentifier) -> Bool {
        guard let description = directory[self[id].record.app]?.description else { return false }
        return description.acknowledges && description.scenes == .unsupported
    }

    /// The app's archive follows its launch.
    public func announcesState(to id: InstanceIdentifier) -> Bool {
        table[id]?.restoration[.application] == .announced
    }

    /// It runs: what was announced to it comes, or word that it does not.
    mutating func handOverAnnounced(to id: InstanceIdentifier) {
        guard self[id].restoration[.application] == .announced else { return }
        let now = phase(of: .application, for: id)
        self[id].restoration[.application] = now
        effects.append(.handOverState(id, .application, isThere: now == .onTrial))
    }

    /// A scene of it is connected next.
    mutating func prepareState(of scene: SceneIdentifier, for id: InstanceIdentifier) {
        guard scene != .application else { return }
        self[id].restoration[scene] = phase(of: scene, for: id)
    }

    /// The connection brings what is kept for the session.
    public func isHandedOver(_ scene: SceneIdentifier, to id: InstanceIdentifier) -> Bool {
        table[id]?.restoration[scene]?.isOnTrial == true
    }

    /// Protected data can be read again: what was withheld comes after all.
    mutating func handOverWithheld(to id: InstanceIdentifier) {
        let withheld = self[id].restoration.filter { $0.value == .withheld }
        for scene in withheld.keys.sorted() {
            guard phase(of: scene, for: id) == .onTrial,
                scene != .application || restoresAsWhole(id)
            else { continue }
            // Once the launch is over, what it does is told from a failed launch.
            let isLaunching = self[id].record.state == .launching
            self[id].restoration[scene] = isLaunching ? .onTrial : .restored
            effects.append(.handOverState(id, scene, isThere: true))
        }
    }

    /// Everything is where it shall be: what was handed over did no harm.
    mutating func trialIsOver(for id: InstanceIdentifier) {
        for (scene, phase) in self[id].restoration where phase == .onTrial {
            self[id].restoration[scene] = .restored
        }
    }

    /// It has ended: what was on trial is not met again, if it was at fault.
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
        // What was never handed over is not being restored.
        case .withheld?, .announced?, .extended?, nil: break
        }
    }

    mutating func completeTrial(of scene: SceneIdentifier, for id: InstanceIdentifier) {
        guard self[id].restoration[scene] == .extended else { return }
        let conversation = self[id].record.conversation
        let isThere = conversation.map { $0.pending == nil && $0.next == nil } ?? false
        self[id].restoration[scene] = isThere ? .restored : .onTrial
    }

    // MARK: Coming back

    /// A former supervisor launched it, and perhaps could not send what it had announced.
    mutating func announceStateAgain(to id: InstanceIdentifier) {
        let record = self[id].record
        // The order to end it may be all that was done.
        if record.state == .terminating, record.endReason == .forceQuit {
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
    /// Nobody wanted this end, and the program is to blame for it.
    fileprivate var isFailure: Bool {
        switch endReason?.row.blame ?? .never {
        case .always: true
        case .unlessZero: exitStatus != ExitStatus.exited(0)
        case .never: false
        }
    }
}
