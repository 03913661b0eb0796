import GreenroomControl

/// The question to the daemons which app is meant. It is sent first, and the answer is read when it
/// is needed.
struct AppQuestion {
    struct Target {
        /// The full identifier.
        let app: String
        let connection: Connection
        /// The socket to name to greenroomctl; nil if it finds this daemon by itself.
        let socket: String?
    }

    private let name: String
    private let isLink: Bool
    /// Whether the caller named the daemon, so that no other is asked.
    private let isOnly: Bool
    private let path: String
    private let connection: Connection
    /// The path of the system's daemon, and the connection to it, if it is asked too.
    private let second: String?
    private let system: Connection?

    /// - Parameters:
    ///   - name: a word for an app, or the name of a link.
    ///   - socket: the daemon to ask; nil for the usual ones.
    init(asking name: String, at socket: String?, isLink: Bool) throws(HandOver) {
        self.name = name
        self.isLink = isLink
        isOnly = socket != nil
        path = SocketPath.find(option: socket)
        connection = try Connection(path)
        // If another daemon has the app, greenroomctl asks that one.
        if Self.isIdentifier(name), !isLink {
            (second, system) = (nil, nil)
            return
        }
        try connection.send(.listCalled(name))
        second = isOnly ? nil : SocketPath.second(after: path)
        // Like greenroomctl, this goes on if the system's daemon does not listen.
        system = second.flatMap { try? Connection($0) }
        try? system?.send(.listCalled(name))
    }

    func target() throws(HandOver) -> Target {
        if Self.isIdentifier(name), !isLink {
            return Target(app: name, connection: connection, socket: isOnly ? path : nil)
        }
        let own = try connection.apps(called: name)
        let systems = AppNames.systemsApps(try system?.apps(called: name) ?? [], besides: own)
        let meant = meanings(among: own + systems)
        guard meant.count == 1 else { throw HandOver() }
        if let system, systems.contains(where: { $0.identifier == meant[0] }) {
            // The user's daemon may have an app of that identifier with another program.
            try connection.send(.listCalled(meant[0]))
            guard try connection.apps(called: meant[0]).isEmpty else { throw HandOver() }
            return Target(app: meant[0], connection: system, socket: second)
        }
        return Target(app: meant[0], connection: connection, socket: isOnly ? path : nil)
    }

    private static func isIdentifier(_ name: String) -> Bool {
        name.utf8.contains(UInt8(ascii: "."))
    }

    private func meanings(among apps: [Control.AppSummary]) -> [String] {
        guard isLink else {
            return AppNames.identifiers(meantBy: name, among: apps.map { $0.identifier })
        }
        let apps = AppNames.apps(called: name, among: apps)
        let isOurs = apps.contains { $0.program.map(LinkedRun.isOurselves) == true }
        return isOurs ? [] : apps.map { $0.identifier }
    }
}
