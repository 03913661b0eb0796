internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Hears when launched apps say that they are ready: READY=1 on a socket (sd_notify(3)). A program
/// is ready for its user when it says so, not when it was executed.
///
/// Each user has a socket. (BARRIER=1 of sd_notify(3) sends a descriptor, and waits until it is
/// closed.)
@LoopActor
final class ReadinessListener {
    private let core: Core
    private let instances: InstanceTable
    private let directory: String
    private let log: Log
    private let disposer: Disposer
    /// The sockets of users with an app that says when it is ready; whoever writes manifests
    /// decides how many.
    private var sockets: [UInt32: UserSocket] = [:]
    /// For each user, the latest processes that said READY=1 and belong to no instance that is known.
    private var early: [UInt32: [pid_t]] = [:]
    private static let earlyLimit = 32
    /// The longest message in bytes; sd_notify(3) sends less.
    private static let messageLimit = 4096

    /// - Parameter directory: the directory of the sockets.
    init(
        core: Core, instances: InstanceTable, directory: String, log: Log, disposer: Disposer
    ) throws {
        self.core = core
        self.instances = instances
        self.directory = directory
        self.log = log
        self.disposer = disposer
        // An older daemon had a socket of this name.
        unsafe unlink(directory)
        try UserSocket.makeDirectory(directory)
    }

    /// The path that this user's apps get as NOTIFY_SOCKET; nil if the socket cannot be made.
    func socketPath(of user: UInt32) -> String? {
        let path = "\(directory)/\(user)"
        if sockets[user] != nil { return path }
        do {
            sockets[user] = try UserSocket(
                boundAt: path, of: user, byteLimit: Self.messageLimit, disposer: disposer
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
            let others = early[user, default: []].filter { $0 != sender.pid }
            early[user] = others.suffix(Self.earlyLimit - 1) + [sender.pid]
        }
    }

    /// The instance is known now. It may have said READY=1 before the spawner's report of it
    /// arrived.
    func hearEarly(_ instance: Instance, of user: UInt32) {
        for pid in early[user] ?? [] where instances.instance(ofProcess: pid) === instance {
            early[user]?.removeAll { $0 == pid }
            return core.handle(.becameReady(instance.identifier))
        }
    }
}
