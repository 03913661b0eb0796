internal import Glibc
internal import GreenroomAppChannel

/// State preservation and restoration, in UIKit's order.
///
///     saving       shouldSave, willEncode, each object's encode
///     restoring    shouldRestore, each object's decode, each object's applicationFinishedRestoringState,
///                  didDecode
///
/// An app with scenes instead saves an activity for each scene.
extension Application {
    /// Registers `object`, so that its state is saved and restored with the app's under
    /// `identifier`; UIKit's
    /// `UIApplication.registerObject(forStateRestoration:restorationIdentifier:)`. Register objects
    /// before state is restored. If the archive has state for an identifier that is not registered,
    /// the delegate's `application(_:objectWithRestorationIdentifier:coder:)` is called. Registered
    /// objects are not kept alive.
    public func registerObject(_ object: any StateRestoring, forStateRestoration identifier: String)
    {
        restorables.register(object, identifier)
    }

    // MARK: Saving

    /// Saves the app's state when it has just left the foreground, or is about to end while in it.
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

    /// Saves state when the app ends in the foreground, without passing through the background.
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

    /// Restores, in the launch sequence, the archive that the launch has announced. Other messages
    /// that arrive before it are held.
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

    /// Restores an archive that comes after the launch or the connection of its scene, because
    /// protected data could not be read then, or because the message had no room for it.
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

    /// - Returns: whether the app wanted its state to be restored.
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

    /// Says that the app goes on restoring its state after the callbacks have returned; UIKit's
    /// `UIApplication.extendStateRestoration()`. Follow each call with a call
    /// of ``completeStateRestoration()``. Until then no state is saved over the one that is being
    /// restored. If the app fails before then, that state is assumed to be the cause and is
    /// deleted. Call this while state is being restored or the launch finishes.
    public func extendStateRestoration() { extend(nil) }

    /// Says that a restoration that ``extendStateRestoration()`` extended is complete; UIKit's
    /// `UIApplication.completeStateRestoration()`.
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
    /// Says that the app goes on restoring this scene's state, as
    /// ``Application/extendStateRestoration()`` does for the app's; UIKit's
    /// `UIScene.extendStateRestoration()`.
    public func extendStateRestoration() {
        application?.extend(session.persistentIdentifier)
    }

    /// Says that a restoration that ``extendStateRestoration()`` extended is complete; UIKit's
    /// `UIScene.completeStateRestoration()`.
    public func completeStateRestoration() {
        application?.complete(session.persistentIdentifier)
    }
}

extension AppContent {
    /// The file that the user wants to see now, if the content has one.
    var documentURL: String? { urls.first { $0.url.hasPrefix("file:") }?.url }
}
