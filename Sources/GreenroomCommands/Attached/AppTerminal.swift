import Glibc
import GreenroomLinux

/// The terminal of an attached app: a pty whose controller this process holds. While the app is in
/// the foreground, the user's terminal is raw and every key goes to the pty, whose line discipline
/// interprets ^C, ^Z and the like; all output comes back. The user's terminal is restored on every
/// way out.
final class AppTerminal {
    /// At most this many bytes in one read. A terminal's own buffer has 4 KiB.
    private static let chunkByteCount = 16 << 10

    /// Its terminal end becomes the app's standard streams. This process keeps that end open until
    /// the app has ended, because the controller would otherwise seem hung up while the app
    /// has it closed.
    private var pseudoTerminal: PseudoTerminal
    let plan: TerminalPlan

    /// The settings of the user's terminal before it became raw; nil while it is not raw.
    private var cooked: termios?
    private var toUser = ByteQueue()
    private var toApp = ByteQueue()
    private var inputHasEnded = false
    /// Whether the app has ended, so that keys belong to the shell again.
    private var appHasEnded = false
    private var outputIsLost = false
    private var sawSignalKey = false
    /// Whether to write while in the background, which is allowed if the kernel has not stopped
    /// this process for it.
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

    /// The descriptor of the terminal end, for the app.
    var descriptor: CInt? { pseudoTerminal.terminal?.rawValue }
    private var controller: CInt { pseudoTerminal.controller.rawValue }

    // MARK: The user's terminal

    /// Whether the user sees this process and types to it. True if there is no job control.
    var isInForeground: Bool {
        guard let terminal = plan.terminal?.rawValue else { return true }
        let group = Terminal.foregroundGroup(of: terminal)
        return group == 0 || group == getpgrp()
    }

    /// Makes the user's terminal raw if this process is in the foreground.
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

    /// Restores the user's terminal. In the background, another process uses it, so it is left
    /// alone.
    func restore() {
        guard let attributes = cooked, let terminal = plan.terminal?.rawValue else { return }
        cooked = nil
        if isInForeground { Terminal.setAttributes(attributes, of: terminal) }
        Terminal.restoreOnCrash(terminal, nil)
    }

    /// Whether to check if this process is in the foreground now: a shell that brings a running job
    /// to the foreground does not always send a signal.
    var isWaitingForFront: Bool { cooked == nil && !appHasEnded && plan.terminal != nil }

    /// The app has ended. Keys stay unread for the next program; only the app's remaining output is
    /// still shown.
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

    /// Sends SIGINT, SIGQUIT or SIGTSTP to the foreground process group of the app's terminal.
    func signalForeground(_ signal: CInt) { Terminal.signalForeground(of: controller, signal) }

    /// Whether the app draws or reads keys while in the background, for which a job is stopped
    /// (SIGTTOU).
    var wantsFront: Bool {
        guard !toUser.isEmpty, !writesInBackground, cooked == nil, plan.terminal != nil,
            !isInForeground
        else { return false }
        let attributes = Terminal.attributes(of: controller)
        return attributes.map { $0.c_lflag & tcflag_t(ICANON) == 0 } ?? false
    }

    /// Allows writing in the background, because this process could not be stopped.
    func writeInBackground() { writesInBackground = true }

    // MARK: Bytes

    /// The descriptors to wait for. Each direction reads only after everything that it has read is
    /// written.
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

    /// Whether a key that makes a signal was passed on to the app since the last call.
    func takeSignalKey() -> Bool {
        defer { sawSignalKey = false }
        return sawSignalKey
    }

    /// Shows a line of this program among the app's output.
    func show(_ line: String) {
        guard !outputIsLost else { return }
        for byte in (line + "\r\n").utf8 { toUser.append(byte) }
    }

    /// Moves the bytes that can be moved.
    /// - Returns: false if there were none.
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
        case .some:
            if Terminal.hasSignalKey(of: controller, in: toApp.waiting) { sawSignalKey = true }
        case .blocked: break
        case .end, .failed:
            inputHasEnded = true
            // The end of a pipe is passed on as if the user had typed it. A terminal that ends is
            // hung up.
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
            // Nobody reads the output any more. The app goes on as if somebody did.
            outputIsLost = true
            toUser = ByteQueue()
        }
    }

    /// Shows the app's last output after it has ended, and restores the user's terminal.
    func finish() {
        pseudoTerminal.closeTerminal()
        while true {
            if toUser.isEmpty {
                // The pty hangs up when the app's last process has closed it, unless another
                // process has it open.
                let isReady = try? PollEntry.wait(
                    for: controller, POLLIN, milliseconds: Self.lastWordsMilliseconds)
                guard isReady == true,
                    case .some = toUser.read(from: pseudoTerminal.controller, Self.chunkByteCount)
                else { break }
            }
            let isReady = try? PollEntry.wait(
                for: plan.output.rawValue, POLLOUT, milliseconds: Self.slowestWriteMilliseconds)
            guard isReady == true else { break }
            writeOutput()
        }
        restore()
    }

    /// How long to wait for the last output, because the kernel moves bytes through a pty with a
    /// delay.
    private static let lastWordsMilliseconds: CInt = 50
    /// How long to wait for a terminal that has stopped (^S).
    private static let slowestWriteMilliseconds: CInt = 5000
}
