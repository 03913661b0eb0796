import CGreenroomLinux
import Glibc
import GreenroomControl

/// A launch in the caller's place, in the plain form: no terminal of the app's own, no signal to
/// forward, no error to report. Anything else is handed over to greenroomctl, which does the same
/// again from the start, or from where this process is.
struct BriefRun {
    private enum Meaning {
        case run(AttachedRun)
        case link(LinkedRun)
    }

    private let meaning: Meaning

    /// - Parameter words: the command line.
    init(_ words: [ByteString]) throws(HandOver) {
        if let link = LinkedRun(words) {
            meaning = .link(link)
        } else if let run = AttachedRun(plain: ["run"] + words.dropFirst()), run.begun == nil {
            meaning = .run(run)
        } else {
            throw HandOver()
        }
    }

    /// Runs the app, and ends in the same way as the app.
    /// - Returns: the exit code.
    func perform() throws(HandOver) -> CInt {
        let inheritance = Inheritance.own
        guard inheritance.closedDescriptors.isEmpty else { throw HandOver() }
        let target: Target
        var run: AttachedRun
        switch meaning {
        case .run(let plain):
            guard plain.terminalUse != .always else { throw HandOver() }
            run = plain
            target = try Self.target(meantBy: plain)
        case .link(let link):
            guard Caller.mayEnterDirectory else { throw HandOver() }
            target = try Self.target(calledBy: link)
            run = AttachedRun(
                app: target.app, environment: [], arguments: link.arguments, socket: nil)
        }
        run.app = target.app
        run.socket = target.socket
        guard run.terminalUse == .never || !TerminalUse.isInteractive else { throw HandOver() }
        return try Self.launch(run, target.connection, inheritance)
    }

    // MARK: Which app, and of which daemon

    private struct Target {
        /// The full identifier.
        let app: String
        let connection: Connection
        /// The socket to name to greenroomctl; nil if it finds this daemon by itself.
        let socket: String?
    }

    private static func target(meantBy run: AttachedRun) throws(HandOver) -> Target {
        let path = SocketPath.find(option: run.socket)
        let connection = try Connection(path)
        // If another daemon has the app, greenroomctl asks that one.
        if run.app.utf8.contains(UInt8(ascii: ".")) {
            return Target(app: run.app, connection: connection, socket: run.socket)
        }
        return try target(connection, path, isOnly: run.socket != nil) { apps in
            AppNames.identifiers(meantBy: run.app, among: apps.map { $0.identifier })
        }
    }

    private static func target(calledBy link: LinkedRun) throws(HandOver) -> Target {
        let path = SocketPath.find(option: nil)
        return try target(try Connection(path), path, isOnly: false) { apps in
            let apps = AppNames.apps(called: link.name, among: apps)
            let isOurs = apps.contains { $0.program.map(LinkedRun.isOurselves) == true }
            return isOurs ? [] : apps.map { $0.identifier }
        }
    }

    /// - Parameters:
    ///   - isOnly: whether the daemon was named, so that no other is asked.
    ///   - choose: the identifiers that are meant, of these apps.
    private static func target(
        _ connection: Connection, _ path: String, isOnly: Bool,
        _ choose: ([Control.AppSummary]) -> [String]
    ) throws(HandOver) -> Target {
        let own = try connection.apps()
        let second = isOnly ? nil : SocketPath.second(after: path)
        // As greenroomctl does, this goes on without a system's daemon that does not answer.
        let system = second.flatMap { try? Connection($0) }
        let systems = AppNames.systemsApps((try? system?.apps()) ?? [], besides: own)
        let meant = choose(own + systems)
        guard meant.count == 1 else { throw HandOver() }
        if let system, systems.contains(where: { $0.identifier == meant[0] }) {
            return Target(app: meant[0], connection: system, socket: second)
        }
        return Target(app: meant[0], connection: connection, socket: isOnly ? path : nil)
    }

    private static func launch(
        _ run: AttachedRun, _ connection: Connection, _ inheritance: Inheritance
    ) throws(HandOver) -> CInt {
        var call = run.call(of: run.app)
        let descriptors: [CInt]
        do throws(InheritanceError) {
            descriptors = try call.attach(inheritance)
        } catch {
            throw HandOver()
        }
        guard let identifier = call.launchIdentifier else { throw HandOver() }
        let watched = inheritance.watchedSignals
        let signals = unsafe gr_signalfd(watched, CInt(watched.count))
        guard signals >= 0 else { throw HandOver() }
        var begun = run
        begun.begun = BegunLaunch(
            launchIdentifier: identifier, blockedSignals: inheritance.blockedSignals)
        do throws(HandOver) {
            try connection.send(.launch(call), descriptors: descriptors)
            // Sent now, so that the daemon reads it while the app begins.
            try connection.send(.wait(.launch(identifier)))
            guard
                case .launched(let launched) = try connection.reply(
                    to: .launch(call), unless: signals)
            else { throw HandOver() }
            begun.begun?.instance = launched.instance
            begun.begun?.process = launched.processId
            guard
                case .exited(let exited) = try connection.reply(
                    to: .wait(.launch(identifier)), unless: signals)
            else { throw HandOver() }
            switch Ending(exited.exit) {
            case .status(let status): return status
            case .signal(let signal): Ending.die(by: signal)
            case .unseen: throw HandOver()
            }
        } catch {
            throw HandOver(begun)
        }
    }
}
