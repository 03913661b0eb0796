internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Hears when launched apps are ready: READY=1 on a socket (sd_notify(3)), or the first byte of
/// their output. A program is ready for its user when it says so, not when it was executed.
///
/// Each user has a socket that nobody else can send to. If what a user sends there cannot be
/// closed, that delays nobody else.
@LoopActor
final class ReadinessListener {
    private let core: Core
    private let instances: InstanceTable
    private let output: AppOutput
    private let directory: String
    private let log: Log
    private let disposer: Disposer
    /// The sockets of users with an app that says when it is ready; whoever writes manifests
    /// decides how many.
    private var sockets: [UInt32: NotifySocket] = [:]

    /// - Parameter directory: the directory of the sockets.
    init(
        core: Core, instances: InstanceTable, output: AppOutput, directory: String, log: Log,
        disposer: Disposer
    ) throws {
        self.core = core
        self.instances = instances
        self.output = output
        self.directory = directory
        self.log = log
        self.disposer = disposer
        // An older daemon had a socket of this name.
        unsafe unlink(directory)
        if unsafe mkdir(directory, 0o755) != 0, errno != EEXIST {
            throw SystemError(code: errno, call: "mkdir", subject: directory)
        }
    }

    /// The path that this user's apps get as NOTIFY_SOCKET; nil if the socket cannot be made.
    func socketPath(of user: UInt32) -> String? {
        let path = "\(directory)/\(user)"
        if sockets[user] != nil { return path }
        do {
            sockets[user] = try NotifySocket(
                boundAt: path, of: user, disposer: disposer
            ) { [unowned self] in heard($0, from: $1, of: user) }
            return path
        } catch {
            log.failed("listening for READY=1 of user \(user)'s apps", error)
            return nil
        }
    }

    /// The kernel tells who sent the message, so no process can claim to be another one.
    private func heard(_ text: String, from sender: Credentials, of user: UInt32) {
        guard text.split(separator: "\n").contains("READY=1") else { return }
        if let instance = instances.instance(ofProcess: sender.pid) {
            core.handle(.becameReady(instance.identifier))
        } else {
            sockets[user]?.keepEarly(sender.pid)
        }
    }

    /// The instance is known now. It may have said READY=1 before the spawner's report of it
    /// arrived.
    func hearEarly(_ instance: Instance, of user: UInt32) {
        guard let socket = sockets[user] else { return }
        for pid in socket.early
        where instances.instance(ofProcess: pid) === instance {
            socket.early.removeAll { $0 == pid }
            return core.handle(.becameReady(instance.identifier))
        }
    }

    // MARK: First output

    /// The instance is ready when it has printed something; what it has printed already counts.
    func awaitOutput(of instance: InstanceIdentifier) {
        output.onOutput(of: instance) { [unowned self] in
            // What a constructor wrote before the pause does not count: the launch comes later.
            guard core.lifecycle.instance(instance)?.state == .launching else { return }
            core.handle(.becameReady(instance))
        }
    }
}

/// The socket of one user's apps. Descriptors may come (BARRIER=1 of sd_notify(3) waits until one
/// is closed), at most as many as the disposer takes from that user.
@LoopActor
private final class NotifySocket {
    private let socket: DatagramSocket
    private let stranger: Stranger
    private let onMessage: (String, Credentials) -> Void
    /// The latest processes that said READY=1 and belong to no instance that is known.
    var early: [pid_t] = []
    private static let earlyLimit = 32
    private var source: EventSource?
    private var resumption: EventSource?
    /// How long to wait before looking again whether what the user sent has been closed.
    private static let pause = Duration.milliseconds(200)

    init(
        boundAt path: String, of user: UInt32, disposer: Disposer,
        onMessage: @escaping (String, Credentials) -> Void
    ) throws {
        socket = try DatagramSocket(boundAt: path, mode: 0o600, owner: user, disposer: disposer)
        stranger = disposer.stranger(user)
        self.onMessage = onMessage
        source = try LoopActor.io(socket.descriptor.rawValue, .readable) { [unowned self] _ in
            receive()
        }
        resumption = try LoopActor.timer { [unowned self] in
            try? source?.setEvents(.readable)
        }
    }

    func keepEarly(_ pid: pid_t) {
        early.removeAll { $0 == pid }
        early = early.suffix(Self.earlyLimit - 1) + [pid]
    }

    private func receive() {
        guard !stranger.isOverdrawn else {
            try? source?.setEvents([])
            try? resumption?.setDeadline(after: Self.pause)
            return
        }
        guard let (text, sender) = try? socket.receive() else { return }
        onMessage(text, sender)
    }
}
