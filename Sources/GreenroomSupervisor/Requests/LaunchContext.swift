internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

/// What a client's launch brought along, kept by the shell until the launch is answered: the core
/// decides which process gets it.
struct LaunchContext {
    /// argv of the app: the manifest's words, then the client's.
    var arguments: [ByteString]
    /// The whole environment of the launch; nil means the app's own, which is encoded already.
    var environment: [ByteString]?
    /// What it brings no paused instance can take, for this reason.
    var coldReason: ColdReason?
    /// A directory to start in; nil means the manifest's.
    var workingDirectory: FileDescriptor?
    var umask: UInt32?
    /// Standard input, output and error; nil means the daemon's choice.
    var standardStreams: [FileDescriptor?] = [nil, nil, nil]
    /// Beside those, each at its number.
    var otherDescriptors: [(number: CInt, descriptor: FileDescriptor)] = []
    /// What else the app has from its caller; nil: nothing of any caller.
    var inherited: InheritedState?
    /// A paused instance of the app has not got all of that yet.
    var inheritsMoreThanPaused = false
    var requestedAt: Instant
    /// One of its standard streams is to be its controlling terminal.
    var takesTerminal = false
    /// Another file than the app's.
    var executablePath: String?

    /// Of an SDK app: why, and what for.
    var reason = AppLaunch.Reason.user
    var content = AppContent()
    /// Which launch screen is meant.
    var screenHints = AppManifest.LaunchScreenHints()

    /// The client has the output to itself.
    var takesOutput: Bool { standardStreams[1] != nil || standardStreams[2] != nil }

    /// The standard streams that are closed for the app.
    func isClosed(_ stream: Int) -> Bool { (inherited?.closedDescriptors ?? 0) >> stream & 1 != 0 }
}
