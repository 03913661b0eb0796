internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Keeps confined apps from the control socket: through it, a confined app could make an unconfined
/// app of its user do what it may not do itself. A client is recognized by the cgroup of the
/// process that connected, whatever file system it sees and whoever started it.
///
/// A process that has ended by now cannot be checked. It could have been the child of a confined
/// process and have left the connection to its parent, so it is refused, too.
@LoopActor
struct ConfinedClients {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let spawner: CurrentSpawner

    /// Why this client may not be served; nil if it may.
    func refusal(of client: UnixSocket, _ peer: Peer) -> ControlError? {
        guard catalog.confinedUsers.contains(peer.user) else { return nil }
        do throws(SystemError) {
            let process = try Self.process(of: client)
            let surroundings = try instances.surroundings(ofProcess: peer.pid)
            // If the process has ended, its number may have meant another process when it was
            // looked up.
            if let process, try !process.send(signal: 0) { return Self.ended }
            switch surroundings {
            case .elsewhere: return nil
            case .unknown:
                // The process may be one that the spawner was told to start and has not reported
                // yet.
                guard spawner.orderedApps.contains(where: { isConfined($0, of: peer.user) }) else {
                    return nil
                }
                return Self.starting
            case .instance(let instance):
                guard isConfined(instance) else { return nil }
                return .permissionDenied(
                    needed: "ControlSocket=yes in [Sandbox] of \(instance.app)'s manifest")
            // The process runs already, and the spawner's report of it is on its way.
            case .unknownCgroup(let name):
                guard catalog.mayBeConfined(cgroup: name) else { return nil }
                return .permissionDenied(needed: "ControlSocket=yes in [Sandbox] of its manifest")
            }
        } catch {
            return Self.ended
        }
    }

    private func isConfined(_ app: AppIdentifier, of user: UInt32) -> Bool {
        guard let app = catalog[app] else { return true }
        return app.isKeptFromControl && app.account.user == user
    }

    /// True if the instance was confined when it was started, or if its manifest confines it now.
    private func isConfined(_ instance: Instance) -> Bool {
        guard let record = core.lifecycle.instance(instance.identifier) else { return true }
        return record.confinedUser != nil || catalog[instance.app]?.isKeptFromControl ?? false
    }

    /// Nil where the kernel cannot tell (before 6.5).
    private static func process(of client: UnixSocket) throws(SystemError) -> ProcessDescriptor? {
        do throws(SystemError) { return try client.peerProcess() } catch {
            if error.code == ENOPROTOOPT { return nil }
            throw error
        }
    }

    private static let starting = ControlError.permissionDenied(
        needed: "that no confined app of its user is being started; ask again in a moment")
    private static let ended = ControlError.permissionDenied(
        needed: "that the process which connected is still there: its user has confined apps")
}
