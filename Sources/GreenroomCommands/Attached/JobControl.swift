import Glibc
import GreenroomControl
import GreenroomLinux

/// ^Z, `fg` and `bg`: an attached app stops and goes on together with this process, which
/// represents it in the user's shell.
///
/// The kernel tells only the parent that a child has stopped, and the app's parent is the spawner.
/// So after something was typed or shown, this process checks a few times, after longer and longer
/// pauses, whether the app has stopped.
struct JobControl {
    /// The quiet time before each look, in milliseconds.
    private static let looks: [CInt] = [10, 40, 160, 640]
    /// How long the daemon may take to freeze or thaw the app, in milliseconds.
    private static let patience: CInt = 5000
    /// How long the daemon may take to say whether the app is suspended, in milliseconds. Meanwhile
    /// no key reaches the app.
    private static let statePatience: CInt = 1000

    private let client: String
    private(set) var isStopped = false
    private var nextLook = JobControl.looks.count
    var instance: UInt64?
    /// The leader of the app's session and of its first process group; nil if the daemon is in
    /// another namespace of process numbers.
    var process: pid_t?

    /// - Parameter client: the daemon's socket.
    init(client: String) { self.client = client }

    // MARK: Looking

    /// How long to wait before the next look in milliseconds; -1 means without limit.
    var timeout: CInt { nextLook < Self.looks.count ? Self.looks[nextLook] : -1 }

    mutating func sawActivity() { nextLook = 0 }

    /// Checks, after a quiet time, whether the app has stopped.
    mutating func look() -> Bool {
        guard nextLook < Self.looks.count else { return false }
        nextLook += 1
        return process.flatMap { ProcessTable.entry(of: $0)?.isStopped } ?? false
    }

    // MARK: Stopping and going on

    /// Freezes the whole app, restores the terminal and stops this process until it is continued.
    ///
    /// If the daemon cannot freeze the app (it is away, or the app is not ready yet), the app stays
    /// as it is: stopped by its own terminal, if it has one.
    mutating func stop(_ terminal: AppTerminal?, _ signal: CInt) {
        isStopped = true
        let isFrozen = transition(.suspend)
        terminal?.restore()
        SignalDescriptor.stopGroup(signal)
        goOn(terminal, wasFrozen: isFrozen)
    }

    /// Thaws the app if something other than this process has suspended it (`greenroomctl
    /// suspend`): a frozen app would not notice a signal that is to end or to stop it.
    func thaw(_ terminal: AppTerminal?) {
        guard let instance, let client = try? ControlClient(path: client),
            case .status(let instances)? = try? client.call(
                .status(.instance(instance)), milliseconds: Self.statePatience),
            instances.first?.state == .known(.suspended)
        else { return }
        // Somebody may have wanted the app to stay suspended, so the user is told why it does not.
        let notice =
            "\(instances[0].app) was suspended by somebody else; it goes on, to take the signal"
        // In the foreground, the terminal gets the notice before the app can end.
        if let terminal, terminal.isInForeground {
            terminal.show("greenroomctl: \(notice.harmless)")
            transition(.foreground)
            return
        }
        // In the background, the app goes on first, because the kernel may stop this process when
        // it writes the notice (stty(1): tostop). `show` is not used there, because this process
        // may also be stopped for bytes that wait for the terminal (`wantsFront`).
        transition(.resume)
        StandardConsole().complain(notice)
    }

    private mutating func goOn(_ terminal: AppTerminal?, wasFrozen: Bool) {
        isStopped = false
        terminal?.takeFront()
        if wasFrozen {
            transition(terminal?.isInForeground ?? true ? .foreground : .resume)
        }
        if let process {
            _ = kill(-process, SIGCONT)
        } else {
            call { .signal(instance: $0, signal: SIGCONT) }
        }
        sawActivity()
    }

    @discardableResult
    private func transition(_ transition: Control.Transition) -> Bool {
        call { .transition(transition, .instance($0)) }
    }

    /// - Returns: whether the daemon did it. Freezing an app may take some seconds.
    @discardableResult
    private func call(_ call: (UInt64) -> ControlCall) -> Bool {
        guard let instance, let client = try? ControlClient(path: client) else { return false }
        let reply = try? client.call(call(instance), milliseconds: Self.patience)
        return reply.flatMap(\.self) != nil
    }
}
