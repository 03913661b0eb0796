import CTestSupport
import Glibc

/// A program to run. The child has only the descriptors named here; signals are reset.
public struct ChildRequest: Sendable {
    public var path: String
    public var arguments: [String]
    public var environment: [String]
    /// The test's descriptor for each number in the child. Missing 0, 1 and 2 become /dev/null.
    public var descriptors: [Int32: Int32] = [:]
    public var directory: String?
    public var umask: Int32 = -1
    /// The child's user and group; nil means the test's own.
    public var user: Int32?
    public var newSession = false
    /// The child's first standard descriptor that is a terminal becomes that of its new session.
    public var takesTerminal = false
    public var noNewPrivileges = false
    public var openFileLimit: Int32 = 0

    /// - Parameter arguments: the whole argv; nil means only the path.
    public init(
        _ path: String, arguments: [String]? = nil,
        environment: [String] = ["PATH=/usr/local/bin:/usr/bin:/bin"]
    ) {
        self.path = path
        self.arguments = arguments ?? [path]
        self.environment = environment
    }

    /// Programs that are built with a sanitizer heed the options that the test run was given.
    public static let sanitizerOptions = inheritedEnvironment().filter { entry in
        ["ASAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS="].contains { entry.hasPrefix($0) }
    }
}

/// A child process of the test. It is killed and reaped with the last reference.
public final class ChildProcess {
    public enum Exit: Equatable, Sendable {
        case status(Int32)
        case signal(Int32)
    }

    public let pid: Int32
    public let pidfd: Int32
    private var exit: Exit?

    public init(_ request: ChildRequest) throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        var descriptors = request.descriptors
        for standard: Int32 in 0...2 where descriptors[standard] == nil {
            descriptors[standard] = null
        }
        let targets = descriptors.keys.sorted()
        let sources = targets.map { descriptors[$0]! }
        var pidfd: Int32 = -1
        let pid = withCStrings(request.arguments) { arguments in
            withCStrings(request.environment) { environment in
                request.path.withCString { path in
                    withOptionalCString(request.directory) { directory in
                        var spawn = cts_spawn()
                        spawn.path = path
                        spawn.arguments = arguments
                        spawn.environment = environment
                        spawn.descriptor_count = Int32(targets.count)
                        spawn.directory = directory
                        spawn.umask = request.umask
                        spawn.user = request.user ?? -1
                        spawn.new_session = request.newSession ? 1 : 0
                        spawn.takes_terminal = request.takesTerminal ? 1 : 0
                        spawn.no_new_privileges = request.noNewPrivileges ? 1 : 0
                        spawn.open_file_limit = request.openFileLimit
                        return sources.withUnsafeBufferPointer { sources in
                            targets.withUnsafeBufferPointer { targets in
                                spawn.sources = sources.baseAddress
                                spawn.targets = targets.baseAddress
                                return cts_start(&spawn, &pidfd)
                            }
                        }
                    }
                }
            }
        }
        guard pid > 0 else { throw TestError("cannot run \(request.path): errno \(-pid)") }
        self.pid = pid
        self.pidfd = pidfd
    }

    deinit {
        if exit == nil {
            Glibc.kill(pid, SIGKILL)
            _ = try? waitForExit()
        }
        close(pidfd)
    }

    /// - Throws: when the process still runs after `seconds`.
    @discardableResult
    public func waitForExit(seconds: Int32 = Patience.milliseconds / 1000) throws -> Exit {
        if let exit { return exit }
        var status: Int32 = 0
        let result = cts_wait(pid, pidfd, seconds * 1000, &status)
        guard result == 1 else { throw TestError("process \(pid) did not end in \(seconds) s") }
        let signal = status & 0x7f
        let exit: Exit = signal == 0 ? .status((status >> 8) & 0xff) : .signal(signal)
        self.exit = exit
        return exit
    }

    public func kill(_ signal: Int32) { Glibc.kill(pid, signal) }
}

/// Runs a program to its end and collects what it wrote to stdout, and to stderr if asked.
public func run(
    _ request: ChildRequest, mergingErrors: Bool = false
) throws -> (exit: ChildProcess.Exit, output: [UInt8]) {
    var request = request
    let pipe = try Pipe()
    request.descriptors[1] = pipe.writeEnd
    if mergingErrors { request.descriptors[2] = pipe.writeEnd }
    let child = try ChildProcess(request)
    pipe.closeWriteEnd()
    let output = readToEnd(pipe.readEnd)
    return (try child.waitForExit(), output)
}

/// pipe(2), close-on-exec; both ends close with the last reference.
public final class Pipe {
    public let readEnd: Int32
    public private(set) var writeEnd: Int32

    public init() throws {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw TestError("pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    public func closeWriteEnd() {
        if writeEnd >= 0 { close(writeEnd) }
        writeEnd = -1
    }

    deinit {
        closeWriteEnd()
        close(readEnd)
    }
}

/// Calls `body` with a null-terminated vector of C strings.
func withCStrings<R>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws -> R
) rethrows -> R {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return try copies.withUnsafeBufferPointer { try body($0.baseAddress!) }
}

func withOptionalCString<R>(
    _ string: String?, _ body: (UnsafePointer<CChar>?) throws -> R
) rethrows -> R {
    if let string { return try string.withCString(body) }
    return try body(nil)
}
