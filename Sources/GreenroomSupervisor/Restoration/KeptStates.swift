internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// State preservation, the shell's half: carries archives between apps and files, as the core says.
@LoopActor
final class KeptStates {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    /// Sends an event to an app, and an answer to its request.
    var send: ((AppEvent, InstanceIdentifier) -> Void)?
    var answer: ((InstanceIdentifier, _ cookie: UInt64, AppEvent.Answer) -> Void)?
    private let files: StateFiles

    private struct Place: Hashable {
        var instance: InstanceIdentifier
        var scene: SceneIdentifier
    }
    /// Reported, and the core has not said what becomes of it. Empty between two events.
    private var reported: [Place: (archive: AppArchive, cookie: UInt64)] = [:]

    init(supervisor: Supervisor, catalog: AppCatalog, stateDirectory: String) {
        self.supervisor = supervisor
        self.catalog = catalog
        files = StateFiles(stateDirectory: stateDirectory)
    }

    // MARK: What there is

    /// An app was installed: tells the core what is kept for it. Archives of another user, and what is
    /// none, are dropped.
    func report(on app: InstalledApp) {
        guard app.kind == .applicationKit else { return }
        let identifier = app.identifier
        var kept = KeptState(
            sessions: files.sessions(of: identifier),
            launchedVersion: files.version(of: identifier).map(VersionDigest.of))
        for scene in files.scenes(of: identifier) {
            guard let state = files.archive(of: identifier, scene), state.user == app.account.user
            else {
                supervisor.reporter.say(
                    .warning,
                    "the state that was kept of \(identifier) is damaged, or another "
                        + "user's; it is deleted", of: identifier.rawValue)
                files.delete(scene, of: identifier)
                continue
            }
            kept.archives[scene] = VersionDigest.of(state.stateVersion)
        }
        supervisor.handle(.stateFound(identifier, kept))
    }

    /// What is handed over to the instance with the connection of a scene.
    func archive(
        for scene: SceneIdentifier, of instance: InstanceIdentifier
    ) -> SavedState? {
        guard supervisor.lifecycle.isHandedOver(scene, to: instance),
            let app = supervisor.instances[instance]?.app
        else { return nil }
        return archive(of: app, scene)
    }

    private func archive(of app: AppIdentifier, _ scene: SceneIdentifier) -> SavedState? {
        if let state = files.archive(of: app, scene),
            state.user == catalog.owner(of: app)?.user
        {
            return state
        }
        supervisor.reporter.say(
            .warning, "the state that was kept of \(app) cannot be read", of: app.rawValue)
        supervisor.handle(.stateLost(app, scene))
        return nil
    }

    // MARK: What apps say

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
        supervisor.handle(.stateReported(identifier, scene, wish))
        // Nothing had to be done about it.
        if reported.removeValue(forKey: place) != nil { answer(identifier, cookie, .done) }
    }

    private func answer(
        _ instance: InstanceIdentifier, _ cookie: UInt64, _ answer: AppEvent.Answer
    ) {
        if cookie != 0 { self.answer?(instance, cookie, answer) }
    }

    // MARK: What the core says

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
            supervisor.reporter.say(
                .error, "keeping the state of \(app): \(error)", of: app.rawValue)
            answer(instance, cookie, .refused(code: EIO, reason: "\(error)"))
            if files.archive(of: app, scene) == nil { supervisor.handle(.stateLost(app, scene)) }
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
        _ scene: SceneIdentifier, to instance: InstanceIdentifier, isThere: Bool, cookie: UInt64
    ) {
        guard let app = supervisor.instances[instance]?.app else { return }
        let state = isThere ? archive(of: app, scene) : nil
        let session = scene == .application ? nil : scene.description
        send?(.restoreState(state, session: session, cookie: cookie), instance)
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
        _ deed: String, _ app: AppIdentifier, _ body: () throws(SystemError) -> Void
    ) {
        do throws(SystemError) { try body() } catch {
            supervisor.reporter.say(.error, "\(deed): \(error)", of: app.rawValue)
        }
    }
}

/// Versions are compared, never ordered: the core knows them by a number, another in each process.
enum VersionDigest {
    static func of(_ version: String) -> UInt64 { UInt64(bitPattern: Int64(version.hashValue)) }
}

extension StateDeletion {
    var words: String {
        switch self {
        case .forceQuit: "it was force-quit"
        case .failedLaunch: "it failed while that was restored"
        case .discardedSession: "its scene session was discarded"
        case .nothingToKeep: "it has nothing to come back to"
        case .orphaned: "its scene session is gone"
        }
    }
}

extension StateRefusal {
    /// An errno, for the app.
    var code: Int32 {
        switch self {
        case .tooLarge: E2BIG
        case .notNow: EPERM
        case .restoring, .withheld: EBUSY
        case .noSuchSession: ENOENT
        }
    }

    var words: String {
        switch self {
        case .tooLarge(let byteCount):
            "its state has \(byteCount) bytes, and at most \(AppArchive.byteLimit) are kept: keep "
                + "where the user was, and put what the user made into files"
        case .notNow:
            "state is saved once, on the way from the foreground into the background"
        case .restoring: "what was kept before is not restored yet"
        case .withheld:
            "what was kept before could not be handed over while protected data was locked"
        case .noSuchSession: "there is no such session"
        }
    }
}
