internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd

/// Keeps confined apps from the control socket: what they may not do themselves they would have done by an
/// app of their user's that is not confined. A client is known by the cgroup of the process that connected,
/// whatever file system it sees and whoever started it.
///
/// A process that has ended by now cannot be looked at, and could have been a confined one's child that
/// left the connection to its parent: it is refused, too.
@LoopActor
struct ConfinedClients {
    let catalog: AppCatalog
    let instances: InstanceTable

    /// Why this client may not be served; nil: it may.
    func refusal(of client: UnixSocket, _ peer: Peer) -> ControlError? {
        guard catalog.confinedUsers.contains(peer.user) else { return nil }
        do throws(SystemError) {
            let process = try Self.process(of: client)
            let instance = try instances.instance(aroundProcess: peer.pid)
            // Else the number may have become another's before it was looked at.
            if let process, try !process.send(signal: 0) { return Self.ended }
            guard let instance, catalog[instance.app]?.isKeptFromControl ?? true else { return nil }
            return .permissionDenied(
                needed: "ControlSocket=yes in [Sandbox] of \(instance.app)'s manifest")
        } catch {
            return Self.ended
        }
    }

    /// Nil where the kernel cannot tell (before 6.5).
    private static func process(of client: UnixSocket) throws(SystemError) -> ProcessDescriptor? {
        do throws(SystemError) { return try client.peerProcess() } catch {
            if error.code == ENOPROTOOPT { return nil }
            throw error
        }
    }

    private static let ended = ControlError.permissionDenied(
        needed: "that the process which connected is still there: its user has confined apps")
}
