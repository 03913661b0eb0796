internal import Systemd

/// What greenroom.conf says of clients; read anew while the daemon runs.
@LoopActor
final class ControlSettings {
    var access: Access
    /// Lowered, they end nothing.
    var limits: ControlListener.Limits

    init(access: Access, limits: ControlListener.Limits) {
        self.access = access
        self.limits = limits
    }
}
