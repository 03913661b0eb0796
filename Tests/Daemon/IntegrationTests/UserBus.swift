import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// A message bus of `windowUser`'s session (dbus-daemon(1)), and calls by gdbus(1) as that user.
final class UserBus {
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    var address: String { "unix:path=\(directory.path)/bus" }

    init() throws {
        let program = findProgram("dbus-daemon")
        try requireOrSkip(program != nil, "no dbus-daemon: apt-get install dbus")
        directory = try TemporaryDirectory()
        chown(directory.path, uid_t(windowUser), gid_t(windowUser))
        let configuration = try directory.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <limit name="auth_timeout">240000</limit>
              <limit name="service_start_timeout">120000</limit>
              <listen>unix:path=\(directory.path)/bus</listen>
              <policy context="default">
                <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
              </policy>
            </busconfig>
            """, to: "bus.conf")
        chmod(configuration, 0o644)
        let pipe = try Pipe()
        var request = ChildRequest(
            program!,
            arguments: [
                program!, "--config-file=\(configuration)", "--nofork", "--nopidfile",
                "--print-address=3",
            ])
        request.user = windowUser
        request.descriptors[3] = pipe.writeEnd
        process = try ChildProcess(request)
        pipe.closeWriteEnd()
        // When the bus has printed its address, it is listening.
        guard !(try readLine(pipe.readEnd)).isEmpty else { throw TestError("no message bus") }
    }

    deinit { end() }

    func end() {
        process.kill(SIGKILL)
        _ = try? process.waitForExit()
    }

    /// The processes that watch names on this bus.
    func watches() -> [Int32] {
        Processes.mentioning(address).filter {
            Processes.description(of: $0).contains("greenroom-bus")
        }
    }

    /// Returns whether the call was answered.
    func call(_ name: String, _ method: String, _ arguments: String...) throws -> Bool {
        try send(["call", "--dest", name, "--object-path", "/", "--method", method] + arguments)
    }

    /// Emits a signal to everybody who listens.
    func emit(_ signal: String, _ values: [String]) throws {
        // gdbus gives up if a busy machine keeps it from the bus for too long.
        let words = ["emit", "--object-path", "/", "--signal", signal] + values
        guard try send(words) || send(words) || send(words) else {
            throw TestError("\(signal) was not sent")
        }
    }

    private func send(_ words: [String]) throws -> Bool {
        let program = findProgram("gdbus")
        try requireOrSkip(program != nil, "no gdbus: apt-get install libglib2.0-bin")
        var request = ChildRequest(
            program!, arguments: [program!, words[0], "--address", address] + words.dropFirst())
        request.user = windowUser
        return try run(request).exit == .status(0)
    }
}
