import Glibc
import GreenroomLinux

/// The terminal of an attached app: a pty whose controller is ours. While the app has the front, the
/// user's terminal is raw and every key goes to the pty, whose line discipline makes ^C, ^Z and the
/// rest of them; all output comes back. Restored on every way out.
final class AppTerminal {
    /// What one read takes: a terminal's own buffer has 4 KiB.
    private static let chunkByteCount = 16 << 10

    /// For the app: the end that becomes its standard streams. It stays open until the app has ended:
    /// without it the controller would look hung up while the app has it closed.
    private var pseudoTerminal: PseudoTerminal
    let plan: TerminalPlan

    /// As the user's terminal was, while it is raw; nil while it is as the user had it.
    private var cooked: termios?
    private var toUser = ByteQueue()
    private var toApp = ByteQueue()
    private var inputHasEnded = false
    /// Keys are somebody else's from now on.
    private var appHasEnded = false
    private var outputIsLost = false
    /// The kernel would not stop us for it, so it must be right.
    private var writesInBackground = false

    init(_ plan: TerminalPlan) throws(SystemError) {
        self.plan = plan
        pseudoTerminal = try PseudoTerminal()
        guard let terminal = plan.terminal?.rawValue else { return }
        if let attributes = Terminal.attributes(of: terminal),
            let own = pseudoTerminal.terminal
        {
            Terminal.setAttributes(attributes, of: own.rawValue)
        }
        copyWindowSize()
    }

    deinit { restore() }

    /// Of the app's end, for the app.
    var descriptor: CInt? { pseudoTerminal.terminal?.rawValue }
    private var controller: CInt { pseudoTerminal.controller.rawValue }

    // MARK: The user's terminal

    /// We are what the user sees and types to. True where there is no job control.
    var isInForeground: Bool {
        guard let terminal = plan.terminal?.rawValue else { return true }
        let group = Terminal.foregroundGroup(of: terminal)
        return group == 0 || group == getpgrp()
    }

    /// Makes the user's terminal raw if it is ours to use.
    func takeFront() {
        guard cooked == nil, !appHasEnded, isInForeground, let terminal = plan.terminal?.rawValue,
            let attributes = Terminal.attributes(of: terminal)
        else { return }
        cooked = attributes
        Terminal.restoreOnCrash(terminal, attributes)
        var raw = attributes
        unsafe cfmakeraw(&raw)
        Terminal.setAttributes(raw, of: terminal)
        copyWindowSize()
        writesInBackground = false
    }

    /// Gives it back as it was. In the background it is somebody else's: left alone.
    func restore() {
        guard let attributes = cooked, let terminal = plan.terminal?.rawValue else { return }
        cooked = nil
        if isInForeground { Terminal.setAttributes(attributes, of: terminal) }
        Terminal.restoreOnCrash(terminal, nil)
    }

    /// A shell that brings a running job to the front does not always say so.
    var isWaitingForFront: Bool { cooked == nil && !appHasEnded && plan.terminal != nil }

    /// Nobody reads what is typed now but who comes after us: it is left where it is. Only what the app
    /// has shown is still to come.
    func leaveInput() {
        appHasEnded = true
        inputHasEnded = true
        restore()
    }

    func copyWindowSize() {
        guard let terminal = plan.terminal?.rawValue else { return }
        Terminal.copyWindowSize(from: terminal, to: controller)
    }

    // MARK: Signals

    /// To what has the front in the app's terminal: SIGINT, SIGQUIT or SIGTSTP.
    func signalForeground(_ signal: CInt) { Terminal.signalForeground(of: controller, signal) }

    /// The app draws or reads keys, and nobody sees it: it would be stopped for that (SIGTTOU).
    var wantsFront: Bool {
        guard !toUser.isEmpty, !writesInBackground, cooked == nil, plan.terminal != nil,
            !isInForeground
        else { return false }
        let attributes = Terminal.attributes(of: controller)
        return attributes.map { $0.c_lflag & tcflag_t(ICANON) == 0 } ?? false
    }

    /// It could not be stopped.
    func writeInBackground() { writesInBackground = true }

    // MARK: Bytes

    /// What to wait for. Each direction reads only when all it has read is written.
    var entries: [PollEntry] {
        var entries: [PollEntry] = []
        let input = plan.input.rawValue
        if toApp.isEmpty && !inputHasEnded && (cooked != nil || plan.terminal == nil) {
            entries.append(PollEntry(input, POLLIN))
        }
        let towards = (toUser.isEmpty ? POLLIN : 0) | (toApp.isEmpty ? 0 : POLLOUT)
        if towards != 0 { entries.append(PollEntry(controller, towards)) }
        if !toUser.isEmpty && !outputIsLost && !wantsFront {
            entries.append(PollEntry(plan.output.rawValue, POLLOUT))
        }
        return entries
    }

    /// Moves what can be moved.
    /// - Returns: false if there was nothing.
    @discardableResult
    func relay(_ entries: some Sequence<PollEntry>) -> Bool {
        var hasMoved = false
        for entry in entries where entry.isReady {
            hasMoved = true
            if entry.descriptor == controller {
                if entry.events & Int16(POLLOUT) != 0 { toApp.write(to: pseudoTerminal.controller) }
                if toUser.isEmpty {
                    toUser.read(from: pseudoTerminal.controller, Self.chunkByteCount)
                }
            } else if entry.events & Int16(POLLIN) != 0 {
                readInput()
            }
            writeOutput()
        }
        return hasMoved
    }

    private func readInput() {
        guard !inputHasEnded else { return }
        switch toApp.read(from: plan.input, Self.chunkByteCount) {
        case .some, .blocked: break
        case .end, .failed:
            inputHasEnded = true
            // Of a pipe: as if the user had typed it. Of a terminal: it is hung up.
            if plan.terminal == nil || !Terminal.isTerminal(plan.input.rawValue) {
                toApp.append(Terminal.endOfInput(of: controller))
            }
        }
        toApp.write(to: pseudoTerminal.controller)
    }

    private func writeOutput() {
        guard !toUser.isEmpty, !wantsFront else { return }
        if cooked == nil && plan.terminal != nil { toUser.dropReturnsBeforeNewlines() }
        if outputIsLost || !toUser.write(to: plan.output) {
            // Nobody looks any more. The app goes on as if.
            outputIsLost = true
            toUser = ByteQueue()
        }
    }

    /// The app has ended: what it said last is shown, and the terminal given back.
    func finish() {
        pseudoTerminal.closeTerminal()
        while true {
            if toUser.isEmpty {
                var entries = [PollEntry(controller, POLLIN)]
                // Hung up by the last of the app's processes, unless another one has it open.
                guard
                    let ready = try? PollEntry.wait(
                        &entries, milliseconds: Self.lastWordsMilliseconds),
                    ready > 0,
                    case .some = toUser.read(from: pseudoTerminal.controller, Self.chunkByteCount)
                else { break }
            }
            var entries = [PollEntry(plan.output.rawValue, POLLOUT)]
            guard (try? PollEntry.wait(&entries, milliseconds: Self.slowestWriteMilliseconds)) == 1
            else { break }
            writeOutput()
        }
        restore()
    }

    /// The kernel moves bytes through a pty with a delay of its own.
    private static let lastWordsMilliseconds: CInt = 50
    /// A terminal that has stopped (^S) holds up nobody for ever.
    private static let slowestWriteMilliseconds: CInt = 5000
}
