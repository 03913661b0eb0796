/// What an app made with the SDK can do at most. The SDKs in C and Python have the same numbers, and
/// a test compares them.
public enum AppLimits {
    /// How long a callback may keep the main thread before it is reported, in nanoseconds: from
    /// here on, people notice a delay.
    public static let callbackNanoseconds: UInt64 = 250_000_000
    /// Background tasks that are open at a time: more than any app finishes in half a minute.
    public static let backgroundTasks = 64
    /// Measured launch tasks that are under way at a time. An app that begins more has a mistake.
    public static let launchTasks = 16
    /// The name of a measured launch task, in bytes.
    public static let launchTaskNameBytes = 128
    /// Requests to the daemon that wait for their answers at a time. Each is kept until it is
    /// answered.
    public static let requests = 256
    /// Messages that wait for room in the channel. Beyond this, messages that may be lost are
    /// dropped.
    public static let waitingNotes = 256
}
