import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport

extension TestDaemon {
    /// Kills the supervisor and starts it again.
    func restart() throws {
        try kill()
        try start()
    }

    func pid(of instance: UInt64) throws -> Int32 {
        guard let pid = try client().instance(instance).processId else {
            throw TestError("instance \(instance) has no process")
        }
        return pid
    }
}

/// An app that may run any number of times and displaces no other app.
func program(
    _ identifier: String, _ exec: String, prewarm: Int = 0, _ lines: [String] = []
) -> TestApp {
    var app = TestApp(identifier, exec: exec, prewarm: prewarm)
    app.lines = ["Instances=multiple", "ForegroundGroup=none"] + lines
    return app
}

/// Reads until there is a newline or the end.
func readLine(_ descriptor: Int32) throws -> String {
    var bytes: [UInt8] = []
    let file = FileDescriptor(owning: dup(descriptor))
    while bytes.last != UInt8(ascii: "\n") {
        guard try file.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("nothing to read")
        }
        var byte: UInt8 = 0
        guard read(descriptor, &byte, 1) == 1 else { break }
        bytes.append(byte)
    }
    return String(decoding: bytes.dropLast(), as: UTF8.self)
}

/// Starts greenroomctl as a client of this daemon.
func clientProcess(
    _ daemon: TestDaemon, _ arguments: [String], user: Int32? = nil,
    environment: [String] = ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C"],
    _ change: (inout ChildRequest) -> Void = { _ in }
) throws -> ChildRequest {
    let program = try Programs.client
    var request = ChildRequest(
        program, arguments: [program] + arguments,
        environment: environment + ["GREENROOM_SOCKET=\(daemon.socketPath)"])
    request.user = user
    change(&request)
    return request
}

func control(_ body: () throws -> Void) -> ControlError? {
    do { try body() } catch { return error as? ControlError }
    return nil
}
