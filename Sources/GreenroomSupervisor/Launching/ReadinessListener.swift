internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Hears when launched apps are ready: READY=1 on a socket (sd_notify(3)), or the first byte of
/// their output. A program is ready for its user when it says so, not when it was executed.
@LoopActor
final class ReadinessListener {
    unowned let supervisor: Supervisor
    let output: AppOutput
    /// What apps get as NOTIFY_SOCKET.
    let socketPath: String

    private let socket: DatagramSocket
    private let inotify: Inotify
    private var sources: [EventSource] = []
    private var watches: [CInt: InstanceIdentifier] = [:]

    init(
        supervisor: Supervisor, output: AppOutput, socketPath: String, disposer: Disposer
    ) throws {
        self.supervisor = supervisor
        self.output = output
        self.socketPath = socketPath
        // Anybody may write; who wrote is known by the kernel's word, not the message's.
        socket = try DatagramSocket(boundAt: socketPath, mode: 0o666, disposer: disposer)
        inotify = try Inotify()
        sources = [
            try LoopActor.io(socket.descriptor.rawValue, .readable) { [unowned self] _ in
                receive()
            },
            try LoopActor.io(inotify.descriptor.rawValue, .readable) { [unowned self] _ in
                outputArrived()
            },
        ]
    }

    private func receive() {
        guard let (text, sender) = try? socket.receive() else { return }
        guard text.split(separator: "\n").contains("READY=1"),
            let instance = supervisor.instances.instance(ofProcess: sender.pid)
        else { return }
        supervisor.handle(.becameReady(instance.identifier))
    }

    // MARK: First output

    /// Watches the file that the instance's output goes to; what it has written already counts.
    func awaitOutput(of instance: InstanceIdentifier) {
        let path = output.path(of: instance)
        guard let watch = try? inotify.watch(path, for: UInt32(IN_MODIFY)) else { return }
        watches[watch] = instance
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_size > 0 { arrived(watch) }
    }

    private func outputArrived() {
        for event in (try? inotify.read()) ?? [] { arrived(event.watch) }
    }

    private func arrived(_ watch: CInt) {
        // What a constructor wrote before the pause does not count: the launch comes later.
        guard let instance = watches[watch],
            supervisor.lifecycle.instance(instance)?.state == .launching
        else { return }
        watches[watch] = nil
        inotify.remove(watch)
        supervisor.handle(.becameReady(instance))
    }

    func forget(_ instance: InstanceIdentifier) {
        for (watch, watched) in watches where watched == instance {
            watches[watch] = nil
            inotify.remove(watch)
        }
        output.forget(instance)
    }
}
