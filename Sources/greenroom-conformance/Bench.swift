import Glibc
import GreenroomAppChannel
import GreenroomLinux

/// Starts the app under test once for each check, as the daemon would.
struct Bench {
    let command: [String]
    let path: String
    let milliseconds: CInt
    let showsOutput: Bool

    /// Nil if the program is neither a file nor in PATH.
    init?(_ command: [String], timeout: Int32, showsOutput: Bool) {
        guard let name = command.first, let path = Self.find(name) else { return nil }
        self.command = command
        self.path = path
        self.milliseconds = timeout * 1000
        self.showsOutput = showsOutput
    }

    private static func find(_ name: String) -> String? {
        if name.contains("/") { return unsafe access(name, X_OK) == 0 ? name : nil }
        let folders =
            unsafe getenv("PATH").map { unsafe String(cString: $0) }
            ?? "/usr/local/bin:/usr/bin:/bin"
        return folders.split(separator: ":").lazy.map { "\($0)/\(name)" }
            .first { unsafe access($0, X_OK) == 0 }
    }

    enum Start { case cold, prewarmed }

    /// This process's environment without the variables of another launch.
    var environment: [String] {
        OwnProgram.environment.filter {
            !$0.hasPrefix(PrewarmEnvironment.channelName + "=") && !$0.hasPrefix("ActivePrewarm=")
        }
    }

    func start(_ start: Start) throws(Fault) -> TestedApp {
        do throws(SystemError) {
            let (ours, theirs) = try UnixSocket.pair(.seqpacket, nonblocking: false)
            let inode = try theirs.descriptor.identity().inode
            let number = CInt(1023)
            var variables = environment
            variables.append("\(PrewarmEnvironment.channelName)=\(number):\(inode)")
            if start == .prewarmed { variables.append("ActivePrewarm=1") }
            let null = try FileDescriptor.open("/dev/null", O_RDWR)
            let output = showsOutput ? 2 : null.rawValue
            guard let arguments = StringBlock(command), let block = StringBlock(variables) else {
                throw SystemError(code: EINVAL, call: "spawn")
            }
            var request = SpawnRequest(path: path, arguments: arguments, environment: block)
            request.descriptors = [
                .init(null.rawValue, at: 0), .init(output, at: 1), .init(output, at: 2),
                .init(theirs.descriptor.rawValue, at: number),
            ]
            request.startsSession = true
            do throws(SpawnError) {
                let now = MonotonicClock.nanoseconds
                let spawned = try request.spawn()
                withExtendedLifetime((null, theirs)) {}
                return TestedApp(spawned, at: now, ours, start, self)
            } catch {
                throw SystemError(code: error.code, call: "starting \(path)")
            }
        } catch {
            throw Fault("it cannot be started: \(error)")
        }
    }

    /// Starts and launches the app, and waits for the end of its launch sequence.
    func launched(
        _ start: Start, _ flags: AppLaunch.Flags = [.foreground, .protectedDataAvailable]
    ) throws(Fault) -> TestedApp {
        let client = try self.start(start)
        if start == .prewarmed { try client.awaitPause() }
        try client.launch(client.plainLaunch(flags))
        try client.awaitAcknowledgement(of: TestedApp.launchCookie)
        return client
    }
}
