internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Makes an instance of a template whose name a client uses.
@LoopActor
protocol TemplateInstances {
    /// - Parameter mayBe: whether this owner may have an instance.
    /// - Returns: nil if there is no template for the name, or none that works.
    func instantiate(
        _ identifier: String, _ mayBe: (Account) throws(ControlError) -> Bool
    ) throws(ControlError) -> InstalledApp?
}

extension AppInstaller: TemplateInstances {}

/// Which apps and instances a client may know of, and what it may do with them.
@LoopActor
struct Authorization {
    let core: Core
    let catalog: AppCatalog
    let templates: any TemplateInstances
    let settings: ControlSettings

    private var access: Access { settings.access }

    /// The app with this identifier, if the client has the right `verb` to it. To a client that may
    /// not see an app, the app does not exist.
    func find(
        _ name: String, _ verb: Access.Verb, _ peer: Peer
    ) throws(ControlError) -> InstalledApp {
        guard name.utf8.count <= AppManifest.Limit.identifierBytes else {
            throw .noSuchApp(name.cut, suggestion: nil)
        }
        var found = catalog[AppIdentifier(name)]
        if found == nil { found = try made(name, verb, peer) }
        guard let app = found, mayDo(.observe, owner: app.account, peer) else {
            throw noSuchApp(name, peer)
        }
        try require(verb, owner: app.account, peer)
        return app
    }

    /// Makes the app if the name is that of a template's instance and the client wants to control
    /// it.
    private func made(
        _ name: String, _ verb: Access.Verb, _ peer: Peer
    ) throws(ControlError) -> InstalledApp? {
        guard verb == .control else { return nil }
        return try templates.instantiate(name) { owner throws(ControlError) in
            guard mayDo(.observe, owner: owner, peer) else { return false }
            try require(verb, owner: owner, peer)
            return true
        }
    }

    /// A wrong name is compared with at most this many apps: each comparison takes some
    /// microseconds, and anybody may ask.
    private static let comparedCount = 500

    func noSuchApp(_ name: String, _ peer: Peer) -> ControlError {
        if let absent = absent(for: peer)[name] {
            let note = absent.note
            return .refused(code: note.code, reason: "\(name) is not installed: \(note.text)")
        }
        let template = name.hasSuffix("@") ? name : name + "@"
        if catalog.templates.contains(template), mayDo(.observe, owner: nil, peer) {
            return .noSuchApp(name, suggestion: template + "INSTANCE")
        }
        let visible = catalog.apps.lazy.filter { self.mayDo(.observe, owner: $0.account, peer) }
            .prefix(Self.comparedCount)
        return .noSuchApp(
            name, suggestion: Spelling.closest(to: name, among: visible.map(\.identifier.rawValue)))
    }

    /// The apps that have a manifest and are not installed. Only a client that may see every app
    /// sees them, because it is not known who owns them.
    func absent(for peer: Peer) -> [String: AbsentApp] {
        mayDo(.observe, owner: nil, peer) ? catalog.absent : [:]
    }

    /// Like `find`: a client does not learn the numbers of instances that it may not see.
    func require(
        _ verb: Access.Verb, of target: Control.Target, _ peer: Peer
    ) throws(ControlError) {
        switch target {
        case .app(let name):
            // Instances of an app that is no longer installed belong to its user, as long as this
            // daemon knows who that is.
            let app = AppIdentifier(name)
            guard catalog[app] == nil,
                core.lifecycle.states(of: app).contains(where: { $0 != .notRunning }),
                maySee(app, peer)
            else {
                _ = try find(name, verb, peer)
                return
            }
            try require(verb, owner: catalog.owner(of: app), peer)
        case .instance(let number):
            guard let record = core.lifecycle.instance(InstanceIdentifier(number)),
                maySee(record.app, peer)
            else { throw .notRunning(target) }
            try require(verb, owner: catalog.owner(of: record.app), peer)
        }
    }

    func maySee(_ app: AppIdentifier, _ peer: Peer) -> Bool {
        mayDo(.observe, owner: catalog.owner(of: app), peer)
    }

    /// The instance that served the launch of this name. Different users may use the same name, so
    /// only apps that the client may see count: first those of its own user, then the latest.
    func instance(of launch: LaunchIdentifier, for peer: Peer) -> InstanceIdentifier? {
        let records = core.lifecycle.instances(of: launch).filter { maySee($0.app, peer) }
        return records.max {
            let (first, second) = (isOwn($0, peer), isOwn($1, peer))
            return first == second ? $0.instance < $1.instance : second
        }?.instance
    }

    private func isOwn(_ record: InstanceRecord, _ peer: Peer) -> Bool {
        catalog.owner(of: record.app)?.user == peer.user
    }

    func require(
        _ verb: Access.Verb, owner: Account?, _ peer: Peer
    ) throws(ControlError) {
        guard mayDo(verb, owner: owner, peer) else {
            throw .permissionDenied(needed: access.needed(for: verb, owner: owner?.name))
        }
    }

    func mayDo(_ verb: Access.Verb, owner: Account?, _ peer: Peer) -> Bool {
        access.isTrusted(peer)
            || access.allows(peer, to: verb, owner: owner?.user)
    }

    /// What a client would need to do this with the daemon as a whole.
    func needed(for verb: Access.Verb) -> String { access.needed(for: verb, owner: nil) }

    func isTrusted(_ peer: Peer) -> Bool { access.isTrusted(peer) }

    /// The users whose events the client may see.
    func audience(of peer: Peer) -> EventRing.Audience { access.audience(of: peer) }
}
