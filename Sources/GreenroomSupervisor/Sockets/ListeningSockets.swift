internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The listening sockets that the daemon holds for apps.
@LoopActor
final class ListeningSockets {
    unowned let supervisor: Supervisor
    private var table: [AppIdentifier: [FileDescriptor]] = [:]
    private var sources: [AppIdentifier: [EventSource]] = [:]

    init(supervisor: Supervisor) { self.supervisor = supervisor }

    /// Until somebody connects, once.
    func watch(_ app: AppIdentifier) {
        do throws(SystemdError) {
            sources[app] = try (table[app] ?? []).map { socket throws(SystemdError) in
                try LoopActor.io(socket.rawValue, .readable) { [unowned self] _ in arrived(app) }
            }
        } catch {
            supervisor.reporter.failed("watching the sockets of \(app)", error)
        }
    }

    func ignore(_ app: AppIdentifier) { sources[app] = nil }

    private func arrived(_ app: AppIdentifier) {
        sources[app] = nil
        supervisor.handle(.connectionArrived(app))
    }
}
