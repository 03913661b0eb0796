internal import Systemd

/// The settings of greenroom.conf for clients. They are read again while the daemon runs.
@LoopActor
final class ControlSettings {
    var access: Access
    /// Lowering the limits ends no connection.
    var limits: ControlListener.ConnectionLimits

    init(access: Access, limits: ControlListener.ConnectionLimits) {
        self.access = access
        self.limits = limits
    }
}
