import CGreenroomLinux
import Glibc
import GreenroomControl

/// A launch in the caller's place, in the plain form: no terminal of the app's own, no signal to
/// forward, no error to report. Anything else is handed over to greenroomctl, which begins again,
/// or goes on with the launch that may have been made.
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
        // A new socket would get the number of a closed descriptor.
        guard Inheritance.closedStandardDescriptors.isEmpty else { throw HandOver() }
        var run: AttachedRun
        switch meaning {
        case .run(let plain):
            guard plain.terminalUse != .always else { throw HandOver() }
            run = plain
        case .link(let link):
            guard Caller.mayEnterDirectory else { throw HandOver() }
            run = AttachedRun(
                app: link.name, environment: [], arguments: link.arguments, socket: nil)
        }
        guard run.terminalUse == .never || !TerminalUse.isInteractive else { throw HandOver() }
        // The daemon works on the question while this process reads what it has inherited.
        let question = try AppQuestion(asking: run.app, at: run.socket, isLink: isLink)
        let inheritance = Inheritance.own
        var call = run.call(of: run.app)
        let descriptors: [CInt]
        do throws(InheritanceError) {
            descriptors = try call.attach(inheritance)
        } catch {
            throw HandOver()
        }
        let target = try question.target()
        run.app = target.app
        run.socket = target.socket
        call.app = target.app
        do throws(HandOver) {
            return try Self.launch(run, call, descriptors, target.connection, inheritance)
        } catch {
            guard isLink || run.substitute != nil, error.isRefusal else { throw error }
            // Nothing was launched. greenroomctl begins again and knows what to execute then.
            Caller.block(only: inheritance.blockedSignals)
            throw HandOver()
        }
    }

    private var isLink: Bool { if case .link = meaning { true } else { false } }

    private static func launch(
        _ run: AttachedRun, _ call: Control.LaunchCall, _ descriptors: [CInt],
        _ connection: Connection, _ inheritance: Inheritance
    ) throws(HandOver) -> CInt {
        guard let identifier = call.launchIdentifier else { throw HandOver() }
        let watched = inheritance.watchedSignals
        let signals = unsafe gr_signalfd(watched, CInt(watched.count))
        guard signals >= 0 else { throw HandOver() }
        var begun = run
        begun.begun = BegunLaunch(
            launchIdentifier: identifier, blockedSignals: inheritance.blockedSignals)
        do throws(HandOver) {
            try connection.send(.launch(call), descriptors: descriptors)
            // Sent now, so that the daemon reads it while the app starts.
            try connection.send(.wait(.launch(identifier)))
            guard
                case .launched(let launched) = try connection.reply(
                    to: .launch(call), unless: signals)
            else { throw HandOver() }
            if !run.isAttached, launched.kind.joinsRunningInstance { return 0 }
            begun.begun?.instance = launched.instance
            begun.begun?.process = launched.processId
            let process = AppProcess(launched)
            let end: Ending
            switch try connection.reply(
                to: .wait(.launch(identifier)), unless: signals, before: process)
            {
            case .exited(let exited): end = Ending(exited.exit)
            case nil: end = process.ending ?? .unseen
            case _: throw HandOver()
            }
            switch end {
            case .status(let status): return status
            case .signal(let signal): Ending.die(by: signal)
            case .unseen: throw HandOver()
            }
        } catch {
            throw HandOver(begun, isRefusal: error.isRefusal && begun.begun?.instance == nil)
        }
    }
}
