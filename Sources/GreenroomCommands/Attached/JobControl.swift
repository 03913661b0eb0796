import Glibc
import GreenroomControl
import GreenroomLinux

/// ^Z, `fg` and `bg`: an attached app stops and goes on with the process that stands for it in the
/// user's shell.
///
/// The kernel tells only a parent that its child has stopped, and the app's is the spawner. So after
/// anything was typed or shown we look whether it has, a few times and ever later, and then no more.
struct JobControl {
    /// Milliseconds of quiet before each look.
    private static let looks: [CInt] = [10, 40, 160, 640]
    /// Milliseconds that a daemon has to freeze or thaw the app.
    private static let patience: CInt = 5000

    private let client: String
    private(set) var isStopped = false
    private var nextLook = JobControl.looks.count
    var instance: UInt64?
    /// Leader of the app's session and first process group; nil where the daemon's numbers are not ours.
    var process: pid_t?

    /// - Parameter client: the daemon's socket.
    init(client: String) { self.client = client }

    // MARK: Looking

    /// How long to wait for more, -1 for ever.
    var timeout: CInt { nextLook < Self.looks.count ? Self.looks[nextLook] : -1 }

    mutating func sawActivity() { nextLook = 0 }

    /// It was quiet for the time.
    /// - Returns: true if the app has stopped.
    mutating func look() -> Bool {
        guard nextLook < Self.looks.count else { return false }
        nextLook += 1
        return process.flatMap { ProcessTable.entry(of: $0)?.isStopped } ?? false
    }

    // MARK: Stopping and going on

    /// Freezes the whole app, gives the terminal back and stops, until somebody continues us.
    ///
    /// A daemon that cannot freeze it (it is away, or the app is not ready yet) has left it as it is:
    /// stopped by its own terminal, if it has one.
    mutating func stop(_ terminal: AppTerminal?, _ signal: CInt) {
        isStopped = true
        let isFrozen = transition(.suspend)
        terminal?.restore()
        SignalDescriptor.stopGroup(signal)
        goOn(terminal, wasFrozen: isFrozen)
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

    /// - Returns: true if the daemon did it. To freeze an app may take it some seconds.
    @discardableResult
    private func call(_ call: (UInt64) -> ControlCall) -> Bool {
        guard let instance, let client = try? ControlClient(path: client) else { return false }
        let reply = try? client.call(call(instance), milliseconds: Self.patience)
        return reply.flatMap(\.self) != nil
    }
}
