import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// The test's own message bus (dbus-daemon(1)), with a folder of service files. The bus and the
/// programs that it has started end with `end()`.
final class SessionBus {
    let directory: TemporaryDirectory
    private let process: ChildProcess
    private let daemon: TestDaemon

    var address: String { "unix:path=\(directory.path)/bus" }
    var services: String { directory.path + "/services" }

    /// - Parameter environment: of the programs that the bus starts.
    init(for daemon: TestDaemon, environment: [String] = []) throws {
        guard let program = findProgram("dbus-daemon") else {
            try requireOrSkip(false, "there is no dbus-daemon (apt-get install dbus)")
            throw TestError("no dbus-daemon")
        }
        self.daemon = daemon
        directory = try TemporaryDirectory()
        for folder in ["services", "share", "share/dbus-1", "share/dbus-1/services"] {
            mkdir("\(directory.path)/\(folder)", 0o755)
        }
        let configuration = try directory.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <limit name="auth_timeout">240000</limit>
              <limit name="service_start_timeout">120000</limit>
              <listen>unix:path=\(directory.path)/bus</listen>
              <servicedir>\(directory.path)/services</servicedir>
              <servicedir>\(directory.path)/own/dbus-1/services</servicedir>
              <servicedir>\(directory.path)/share/dbus-1/services</servicedir>
              <policy context="default">
                <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
              </policy>
            </busconfig>
            """, to: "bus.conf")
        let pipe = try Pipe()
        var request = ChildRequest(
            program,
            arguments: [
                program, "--config-file=\(configuration)", "--nofork", "--nopidfile",
                "--print-address=3",
            ])
        request.environment += environment
        request.descriptors[3] = pipe.writeEnd
        process = try ChildProcess(request)
        pipe.closeWriteEnd()
        // When the bus has printed its address, it is listening.
        var byte: UInt8 = 0
        guard read(pipe.readEnd, &byte, 1) == 1 else { throw TestError("no message bus") }
    }

    /// Greenroom's programs that serve names.
    var helpers: [Int32] {
        Processes.mentioning(daemon.socketPath).filter {
            Processes.description(of: $0).contains("/greenroom-bus ")
        }
    }

    /// Makes the bus read its service files again.
    func reload() throws {
        let name = "org.freedesktop.DBus"
        let (isDone, text) = try call(name, "/org/freedesktop/DBus", name + ".ReloadConfig")
        guard isDone else { throw TestError(text) }
    }

    func end() {
        let helpers = helpers
        process.kill(SIGTERM)
        _ = try? process.waitForExit()
        for helper in helpers { try? Processes.awaitEnd(of: helper) }
    }

    /// Writes the service file that the app's package brings.
    func describe(_ app: String, exec: String) throws {
        try directory.write(
            "[D-BUS Service]\nName=\(app)\nExec=\(exec)\n",
            to: "share/dbus-1/services/\(app).service")
    }

    /// Runs `greenroomctl dbus-service APP --install` into this bus's folder, and tells the bus.
    func install(_ app: String) throws {
        try control(
            "dbus-service", app, "--install", "--directory", services, "--socket",
            daemon.socketPath)
    }

    /// Runs `greenroomctl desktop enable APP` for a user of this bus.
    func enable(_ app: String) throws {
        try control("desktop", "enable", app, "--socket", daemon.socketPath)
    }

    func disable(_ app: String) throws { try control("desktop", "disable", app) }

    private func control(_ words: String...) throws {
        let program = try Programs.client
        let (exit, output) = try run(
            ChildRequest(
                program, arguments: [program] + words,
                environment: [
                    "PATH=/usr/local/bin:/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=\(address)",
                    "XDG_DATA_HOME=\(directory.path)/own", "XDG_DATA_DIRS=\(directory.path)/share",
                ]), mergingErrors: true)
        guard exit == .status(0) else { throw TestError(String(decoding: output, as: UTF8.self)) }
    }

    /// Makes a call by gdbus(1), and returns its output, with the error if it fails.
    func call(
        _ app: String, _ path: String, _ method: String, _ arguments: String...
    ) throws -> (isDone: Bool, text: String) {
        guard let program = findProgram("gdbus") else {
            try requireOrSkip(false, "there is no gdbus (apt-get install libglib2.0-bin)")
            throw TestError("no gdbus")
        }
        let (exit, output) = try run(
            ChildRequest(
                program,
                arguments: [
                    program, "call", "--address", address, "--dest", app, "--object-path", path,
                    "--method", method,
                ] + arguments), mergingErrors: true)
        return (exit == .status(0), String(decoding: output, as: UTF8.self))
    }

    /// Calls a method of org.freedesktop.Application and throws the error of the bus.
    func ask(_ app: String, _ method: String, _ arguments: String...) throws {
        let path = "/" + app.replacing(".", with: "/")
        let name = "org.freedesktop.Application." + method
        let (isDone, text) =
            switch arguments.count {
            case 1: try call(app, path, name, arguments[0])
            case 2: try call(app, path, name, arguments[0], arguments[1])
            default: try call(app, path, name, arguments[0], arguments[1], arguments[2])
            }
        guard isDone else { throw TestError(text) }
    }
}
