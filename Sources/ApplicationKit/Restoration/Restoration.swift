internal import Glibc
internal import GreenroomAppChannel

/// State preservation and restoration, in UIKit's order.
///
///     saving       shouldSave, willEncode, each object's encode
///     restoring    shouldRestore, each object's decode, each object's applicationFinishedRestoringState,
///                  didDecode
///
/// An app with scenes saves an activity for each scene instead.
extension Application {
    /// Saves and restores the state of `object` with the app's, under `identifier`. Objects that are registered
    /// before state is restored are decoded with it; for others that are in the archive,
    /// `application(_:objectWithRestorationIdentifier:coder:)` is asked. They are not kept alive.
    public func registerObject(_ object: any StateRestoring, forStateRestoration identifier: String)
    {
        restorables.register(object, identifier)
    }

    // MARK: Saving

    /// The app has just left the foreground, or will end in it.
    func saveState() {
        guard channel != nil, extensions[nil] == nil else { return }
        let coder = StateCoder(appVersion: record.launch.version ?? "")
        let wanted = callOptional("application(_:shouldSaveSecureApplicationState:)") {
            delegate.application(self, shouldSaveSecureApplicationState: coder)
        }
        guard let wanted else { return }
        guard wanted else { return report(.forget, of: nil) }
        call("application(_:willEncodeRestorableStateWith:)") {
            delegate.application(self, willEncodeRestorableStateWith: coder)
        }
        for (identifier, object) in restorables.all {
            coder.object = identifier
            call("encodeRestorableState(with:)") { object.encodeRestorableState(with: coder) }
        }
        coder.object = ""
        save(coder.archive, of: nil)
    }

    func saveState(of scene: Scene) {
        let session = scene.session
        guard channel != nil, extensions[session.persistentIdentifier] == nil else { return }
        let answer = callOptional("stateRestorationActivity(for:)") {
            scene.delegate?.stateRestorationActivity(for: scene)
        }
        guard let answer, scene.delegate != nil else { return }
        session.stateRestorationActivity = answer
        guard let activity = answer else {
            return report(.forget, of: session.persistentIdentifier)
        }
        save(AppArchive(activity.activity), of: session.persistentIdentifier)
    }

    /// An app that ends in the foreground does not pass through the background.
    func saveBeforeEnd() {
        if !usesScenes, ownState != .background { saveState() }
        for scene in sessions.compactMap(\.scene) where scene.isInForeground {
            saveState(of: scene)
        }
    }

    private func save(_ archive: AppArchive, of session: String?) {
        let byteCount = archive.byteCount
        report(
            byteCount > AppArchive.byteLimit
                ? .tooLarge(byteCount: UInt64(byteCount)) : .save(archive), of: session)
    }

    private func report(_ report: StateReport, of session: String?) {
        channel?.send(.report(.state(report, session: session, cookie: 0)))
    }

    // MARK: Restoring

    /// In the launch sequence: the archive that the launch has announced. What else comes meanwhile waits.
    func restoreAtLaunch() {
        guard record.launch.flags.contains(.archive) else { return }
        while let channel {
            switch channel.receive(waiting: true) {
            case .nothing, .refused: continue
            case .end: return channelEnded()
            case .message(let incoming):
                if case .event(.restoreState(let saved, nil, let cookie)) = incoming.message {
                    return acknowledge(cookie, handled: saved.map(restore) ?? false)
                }
                held.append(incoming)
            }
        }
    }

    /// What comes later: protected data can be read now, or the connection had no room.
    func restoreLate(_ saved: SavedState?, session identifier: String?, cookie: UInt64) {
        var isRestored = false
        if let saved, let identifier {
            let session = session(withIdentifier: identifier)
            session?.stateRestorationActivity = saved.archive.activity.map(UserActivity.init)
            if let scene = session?.scene { isRestored = restoreInteractionState(of: scene) }
        } else if let saved, !usesScenes {
            isRestored = restore(saved)
        }
        acknowledge(cookie, handled: isRestored)
    }

    /// - Returns: whether the app wanted it.
    private func restore(_ saved: SavedState) -> Bool {
        let coder = StateCoder(saved, launchDocumentURL: record.launch.content.documentURL)
        let wanted = call("application(_:shouldRestoreSecureApplicationState:)") {
            delegate.application(self, shouldRestoreSecureApplicationState: coder)
        }
        guard wanted else { return false }
        var objects: [any StateRestoring] = []
        for identifier in coder.objects {
            coder.object = identifier
            guard let object = object(identifier, coder) else { continue }
            call("decodeRestorableState(with:)") { object.decodeRestorableState(with: coder) }
            objects.append(object)
        }
        coder.object = ""
        for object in objects {
            call("applicationFinishedRestoringState") {
                object.applicationFinishedRestoringState()
            }
        }
        call("application(_:didDecodeRestorableStateWith:)") {
            delegate.application(self, didDecodeRestorableStateWith: coder)
        }
        return true
    }

    private func object(_ identifier: String, _ coder: StateCoder) -> (any StateRestoring)? {
        if let known = restorables[identifier] { return known }
        let made = call("application(_:objectWithRestorationIdentifier:coder:)") {
            delegate.application(self, objectWithRestorationIdentifier: identifier, coder: coder)
        }
        if let made { restorables.register(made, identifier) }
        return made
    }

    /// - Returns: whether there was anything to restore.
    func restoreInteractionState(of scene: Scene) -> Bool {
        guard let activity = scene.session.stateRestorationActivity else { return false }
        call("scene(_:restoreInteractionStateWith:)") {
            scene.delegate?.scene(scene, restoreInteractionStateWith: activity)
        }
        return true
    }

    // MARK: Long restorations

    /// What was handed over is not restored when the callbacks return: it is restored elsewhere, until
    /// ``completeStateRestoration()``. If the app fails before that, the state is taken to be the reason and is
    /// deleted. Until then nothing is saved over it. Call it while state is being restored or the launch
    /// finished, as many times as there is something to wait for.
    public func extendStateRestoration() { extend(nil) }

    public func completeStateRestoration() { complete(nil) }

    func extend(_ session: String?) {
        extensions[session, default: 0] += 1
        if extensions[session] == 1 { report(.extend, of: session) }
    }

    func complete(_ session: String?) {
        guard let count = extensions[session] else { return }
        extensions[session] = count > 1 ? count - 1 : nil
        if count == 1 { report(.complete, of: session) }
    }
}

extension Scene {
    /// As ``Application/extendStateRestoration()``, of this scene.
    public func extendStateRestoration() {
        application?.extend(session.persistentIdentifier)
    }

    public func completeStateRestoration() {
        application?.complete(session.persistentIdentifier)
    }
}

extension AppContent {
    /// A file to open: what the user wants to see now.
    var documentURL: String? { urls.first { $0.url.hasPrefix("file:") }?.url }
}
