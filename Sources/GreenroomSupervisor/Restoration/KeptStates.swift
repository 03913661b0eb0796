internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// State preservation in the shell: carries archives between apps and files, as the core decides.
@LoopActor
final class KeptStates {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let messenger: AppMessenger
    private let log: Log
    private let files: StateFiles

    private struct Place: Hashable {
        var instance: InstanceIdentifier
        var scene: SceneIdentifier
    }
    /// Archives that apps have sent and about which the core has not decided yet. Empty between two
    /// events.
    private var reported: [Place: (archive: AppArchive, cookie: UInt64)] = [:]

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, messenger: AppMessenger,
        log: Log, stateDirectory: String
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.messenger = messenger
        self.log = log
        files = StateFiles(stateDirectory: stateDirectory)
    }

    // MARK: What is kept

    /// Tells the core what is kept for an app that was installed. Deletes an archive that belongs
    /// to another user, and a file that is not an archive.
    func report(on app: InstalledApp) {
        guard app.kind == .applicationKit else { return }
        let identifier = app.identifier
        var kept = KeptState(
            sessions: files.sessions(of: identifier),
            launchedVersions: files.versions(of: identifier).map(VersionDigest.of))
        for scene in files.scenes(of: identifier) {
            guard let state = files.archive(of: identifier, scene), state.user == app.account.user
            else {
                log.say(
                    .warning,
                    "the saved state of \(identifier) is damaged, or another "
                        + "user's; it is deleted", of: identifier.rawValue)
                files.delete(scene, of: identifier)
                continue
            }
            kept.archives[scene] = VersionDigest.of(state.stateVersion)
        }
        core.handle(.stateFound(identifier, kept))
    }

    /// The archive that is handed to an instance of the app.
    func archive(of app: AppIdentifier, _ scene: SceneIdentifier) -> SavedState? {
        if let state = files.archive(of: app, scene),
            state.user == catalog.owner(of: app)?.user
        {
            return state
        }
        log.say(
            .warning, "the saved state of \(app) cannot be read", of: app.rawValue)
        core.handle(.stateLost(app, scene))
        return nil
    }

    // MARK: Reports from apps

    func received(
        _ report: StateReport, session: String?, _ cookie: UInt64, from instance: Instance
    ) {
        let identifier = instance.identifier
        guard let scene = session.map({ SceneIdentifier(session: $0) }) ?? .application else {
            return refuse(.noSuchSession, identifier, cookie)
        }
        let wish: StateWish
        var archive = AppArchive()
        switch report {
        case .save(let saved):
            archive = saved
            wish = .keep(byteCount: UInt64(saved.byteCount))
        case .forget: wish = .forget
        case .tooLarge(let byteCount): wish = .tooLarge(byteCount: byteCount)
        case .extend: wish = .extend
        case .complete: wish = .complete
        }
        let place = Place(instance: identifier, scene: scene)
        reported[place] = (archive, cookie)
        core.handle(.stateReported(identifier, scene, wish))
        // The core has not ordered anything to be done with the archive.
        if reported.removeValue(forKey: place) != nil { answer(identifier, cookie, .done) }
    }

    private func answer(
        _ instance: InstanceIdentifier, _ cookie: UInt64, _ answer: AppEvent.Answer
    ) {
        if cookie != 0 { messenger.answer(instance, cookie, answer) }
    }

    // MARK: Orders from the core

    func keep(_ instance: InstanceIdentifier, _ app: AppIdentifier, _ scene: SceneIdentifier) {
        let place = Place(instance: instance, scene: scene)
        guard let (archive, cookie) = reported.removeValue(forKey: place),
            let installed = catalog[app]
        else { return }
        let state = SavedState(
            archive, appVersion: installed.version, stateVersion: installed.stateVersion,
            savedAt: UInt64(max(0, WallClock.nowMicroseconds)), user: installed.account.user)
        do throws(SystemError) {
            try files.keep(state, of: app, scene)
            answer(instance, cookie, .done)
        } catch {
            log.say(
                .error, "keeping the state of \(app): \(error)", of: app.rawValue)
            answer(instance, cookie, .refused(code: EIO, reason: "\(error)"))
            if files.archive(of: app, scene) == nil { core.handle(.stateLost(app, scene)) }
        }
    }

    func refuse(
        _ refusal: StateRefusal, _ instance: InstanceIdentifier, _ scene: SceneIdentifier
    ) {
        let place = Place(instance: instance, scene: scene)
        refuse(refusal, instance, reported.removeValue(forKey: place)?.cookie ?? 0)
    }

    private func refuse(
        _ refusal: StateRefusal, _ instance: InstanceIdentifier, _ cookie: UInt64
    ) {
        answer(instance, cookie, .refused(code: refusal.code, reason: refusal.words))
    }

    func delete(_ app: AppIdentifier, _ scene: SceneIdentifier) { files.delete(scene, of: app) }

    func handOver(
        _ scene: SceneIdentifier, to instance: InstanceIdentifier, isThere: Bool
    ) {
        guard let app = instances[instance]?.app else { return }
        let state = isThere ? archive(of: app, scene) : nil
        let session = scene == .application ? nil : scene.description
        messenger.send(
            .restoreState(state, session: session, cookie: messenger.freeCookie()), to: instance)
    }

    func keep(_ list: SessionList, of app: AppIdentifier) {
        attempt("keeping the sessions of \(app)", app) { () throws(SystemError) in
            try files.keep(list, of: app)
        }
    }

    func noteVersion(of app: AppIdentifier) {
        guard let version = catalog[app]?.version else { return }
        attempt("keeping the version of \(app)", app) { () throws(SystemError) in
            try files.note(version: version, of: app)
        }
    }

    private func attempt(
        _ activity: String, _ app: AppIdentifier, _ body: () throws(SystemError) -> Void
    ) {
        do throws(SystemError) { try body() } catch {
            log.say(.error, "\(activity): \(error)", of: app.rawValue)
        }
    }
}
