/// The control interface, `io.greenroom.Control`: what the daemon and its clients share.
///
/// The daemon decodes a `ControlCall` and answers with a `ControlReply`, a `ControlError` or a
/// `ServiceError`; the client does the reverse. The interface description is the contract, and the
/// tests compare every encoder with it.
public enum Control {
    public static let interfaceName = "io.greenroom.Control"
    static let prefix = "io.greenroom.Control."
}
