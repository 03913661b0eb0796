internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Looks for what makes instances ready, if nobody will report it.
@LoopActor
struct ReadyConditions {
    let catalog: AppCatalog
    let sockets: ListeningSockets
    let readiness: ReadinessListener?

    /// The instance runs. From now on the daemon looks for its ready condition.
    func watch(_ instance: Instance) {
        guard let app = catalog[instance.app] else { return }
        switch app.readyCondition {
        case .listening: sockets.awaitListening(instance)
        case .notify: readiness?.hearEarly(instance, of: app.account.user)
        case .exec, .firstOutput, .finishedLaunching: break
        }
    }

    /// Makes the socket on which an instance that a former supervisor started can report that it is
    /// ready.
    func listen(to instance: Instance) {
        guard let app = catalog[instance.app], app.readyCondition == .notify else { return }
        _ = readiness?.socketPath(of: app.account.user)
    }
}
