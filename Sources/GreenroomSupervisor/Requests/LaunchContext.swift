internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

/// What a client's launch brought along. The shell keeps it until the launch is answered, because
/// the core decides which process gets it.
struct LaunchContext {
    /// argv of the app: the manifest's words, then the client's.
    var arguments: [ByteString]
    /// The whole environment of the launch; nil means the app's own, which is already encoded.
    var environment: [ByteString]?
    /// Why no paused instance can take what the launch brings; nil if one can.
    var coldReason: ColdReason?
    /// The names of the variables in which the launch's environment differs from that of every
    /// paused instance; empty if one has the same.
    var differingVariables: [String] = []
    /// With the cold reason `callerState`, or the same reason not to hold: what cannot be taken over,
    /// as far as that is known.
    var callerDifferences: CallerDifferences = []
    /// Why no instance that is held at its first window can take what the launch brings; nil if one
    /// can.
    var reasonNotToHold: ColdReason?
    /// The key of instances that were paused before imports were learned; nil if none of them can
    /// serve the launch.
    var bootKey: EnvironmentKey?
    /// A directory to start in; nil means the manifest's.
    var workingDirectory: FileDescriptor?
    var umask: UInt32?
    /// Standard input, output and error; nil means the daemon's choice.
    var standardStreams: [FileDescriptor?] = [nil, nil, nil]
    /// Further descriptors, each with the number that the app sees.
    var otherDescriptors: [(number: CInt, descriptor: FileDescriptor)] = []
    /// What else the app inherits from its caller; nil if it inherits nothing from any caller.
    var inherited: InheritedState?
    /// Whether `inherited` includes something that a paused instance of the app does not have yet.
    var inheritsMoreThanPaused = false
    /// What that is, as far as it is known.
    var inheritedDifferences: CallerDifferences = []
    var requestedAt: Instant
    /// Whether one of the standard streams becomes the app's controlling terminal.
    var takesTerminal = false
    /// Whether somebody has called a held program by its name on a message bus.
    var isCall = false
    /// A file to execute in place of the app's own.
    var executablePath: String?

    /// For an SDK app: why it is launched, and what for.
    var reason = AppLaunch.Reason.user
    var content = AppContent()
    /// Which launch screen to show.
    var screenHints = AppManifest.LaunchScreenHints()

    /// Whether the client has the output to itself.
    var takesOutput: Bool { standardStreams[1] != nil || standardStreams[2] != nil }

    /// Makes the launch cold if there are differences.
    mutating func refusePaused(for differences: CallerDifferences) {
        guard !differences.isEmpty else { return }
        coldReason = .callerState
        callerDifferences.formUnion(differences)
    }

    /// Whether this standard stream is closed for the app.
    func isClosed(_ stream: Int) -> Bool { (inherited?.closedDescriptors ?? 0) >> stream & 1 != 0 }
}

// Descriptors are checked before the launch. If the app were the first to notice a descriptor of the
// wrong kind, a paused instance would be lost, and the app would seem to have failed.

extension LaunchContext {
    /// Refuses descriptors that cannot be what the call says. Each descriptor that is looked at
    /// costs a system call.
    func checkDescriptors() throws(ControlError) {
        if takesTerminal { try checkTerminal() }
        if let workingDirectory, !workingDirectory.isDirectory {
            throw .refused(
                code: "working_directory",
                reason: "the descriptor of the working directory is not a directory's; pass one "
                    + "that was opened with O_DIRECTORY (O_PATH will do)")
        }
    }

    private func checkTerminal() throws(ControlError) {
        guard
            !standardStreams.contains(where: {
                $0.map { $0.isCharacterDevice && Terminal.isTerminal($0.rawValue) } ?? false
            })
        else { return }
        throw .refused(
            code: "no_terminal",
            reason: "the call asks for a terminal, but no standard descriptor is one; pass "
                + "the far end of a new pty as standard input, output or error, or leave out "
                + "\"terminal\"")
    }
}

extension ControlError {
    /// Why the kernel refuses a descriptor that is a terminal.
    static let foreignTerminal =
        "the terminal among the standard descriptors is another session's; pass the far end of a new "
        + "pty, which belongs to no session yet"
}
