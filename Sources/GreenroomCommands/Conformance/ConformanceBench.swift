import Glibc
import GreenroomAppChannel
import GreenroomLinux

/// Starts the client under test as the daemon would, for each check anew.
struct ConformanceBench {
    let command: [String]
    let path: String
    let milliseconds: CInt
    let showsOutput: Bool

    /// Nil if there is no such program, in PATH or as a file.
    init?(_ command: [String], timeout: Int32, showsOutput: Bool) {
        guard let name = command.first, let path = Self.find(name) else { return nil }
        self.command = command
        self.path = path
        self.milliseconds = timeout * 1000
        self.showsOutput = showsOutput
    }

    private static func find(_ name: String) -> String? {
        if name.contains("/") { return unsafe access(name, X_OK) == 0 ? name : nil }
        let folders = Caller.variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return folders.split(separator: ":").lazy.map { "\($0)/\(name)" }
            .first { unsafe access($0, X_OK) == 0 }
    }

    enum Start { case cold, prewarmed }

    /// Without what this process has of another launch.
    var environment: [String] {
        Caller.environment().filter {
            !$0.hasPrefix(PrewarmEnvironment.channelName + "=") && !$0.hasPrefix("ActivePrewarm=")
        }
    }

    func start(_ start: Start) throws(ConformanceFault) -> ConformanceClient {
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
                return ConformanceClient(spawned, at: now, ours, start, self)
            } catch {
                throw SystemError(code: error.code, call: "starting \(path)")
            }
        } catch {
            throw ConformanceFault("it cannot be started: \(error)")
        }
    }

    /// Launched, and through its launch sequence.
    func launched(
        _ start: Start, _ flags: AppLaunch.Flags = [.foreground, .protectedDataAvailable]
    ) throws(ConformanceFault) -> ConformanceClient {
        let client = try self.start(start)
        if start == .prewarmed { try client.awaitPause() }
        try client.launch(client.plainLaunch(flags))
        try client.awaitAcknowledgement(of: ConformanceClient.launchCookie)
        return client
    }
}
