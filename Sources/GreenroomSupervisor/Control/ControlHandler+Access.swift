internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

extension ControlHandler {
    /// The app of that identifier, if the client may do this with it.
    func find(
        _ name: String, _ verb: Access.Verb, _ peer: Peer
    ) throws(ControlError) -> InstalledApp {
        var found = catalog[AppIdentifier(name)]
        if found == nil { found = try made(name, verb) }
        guard let app = found else {
            // Others' apps are not named to whoever may not see them.
            let visible = catalog.apps.filter { mayDo(.observe, owner: $0.account, peer) }
            throw .noSuchApp(
                name,
                suggestion: Spelling.closest(to: name, among: visible.map(\.identifier.rawValue)))
        }
        try require(verb, owner: app.account, peer)
        return app
    }

    /// An instance of a template comes to be when something is to be done with it.
    private func made(_ name: String, _ verb: Access.Verb) throws(ControlError) -> InstalledApp? {
        verb == .control ? try installer.instantiate(name) : nil
    }

    func require(
        _ verb: Access.Verb, of target: Control.Target, _ peer: Peer
    ) throws(ControlError) {
        switch target {
        case .app(let name): _ = try find(name, verb, peer)
        case .instance(let number):
            guard let record = supervisor.lifecycle.instance(InstanceIdentifier(number)) else {
                // Nobody but the trusted learns which numbers are in use.
                throw .notRunning(target)
            }
            try require(verb, owner: catalog.owner(of: record.app), peer)
        }
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
}
