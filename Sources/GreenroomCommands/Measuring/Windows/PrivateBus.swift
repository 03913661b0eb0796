import AppFolders
import Glibc
import GreenroomLinux

/// A message bus (dbus-daemon(1)) on which nothing is started that is not there.
final class PrivateBus {
    static let programs = ["dbus-daemon", "dbus-send"]
    let address: String
    private let process: pid_t
    private let sender: String

    /// - Parameter user: whose programs may connect, beside this user's.
    init(_ paths: [String], in folder: String, user: UInt32) throws(SystemError) {
        address = "unix:path=\(folder)/bus"
        sender = paths[1]
        let configuration = """
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <policy context="default">
                <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
                <allow user="\(user)"/>
              </policy>
            </busconfig>

            """
        try AppFolderChange.write(Array(configuration.utf8), to: folder + "/bus.conf")
        let pipe = try FileDescriptor.pipe()
        process = try MeasuredProcess.spawn(
            paths[0],
            [
                paths[0], "--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile",
                "--print-address",
            ], environment: ["PATH=/usr/bin:/bin"], pipe: pipe.writing.rawValue)
        close(pipe.writing.release())
        // It listens when it has printed its address.
        guard try pipe.reading.waitUntilReadable(milliseconds: 20_000) else {
            kill(process, SIGKILL)
            throw SystemError(code: ETIMEDOUT, call: "starting a message bus", subject: paths[0])
        }
    }

    deinit {
        kill(process, SIGKILL)
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// The names that programs have taken, without those of the bus and of connections.
    func names() throws(SystemError) -> Set<String> {
        let pipe = try FileDescriptor.pipe()
        let child = try MeasuredProcess.spawn(
            sender,
            [
                sender, "--bus=\(address)", "--print-reply=literal", "--dest=org.freedesktop.DBus",
                "/", "org.freedesktop.DBus.ListNames",
            ], environment: ["PATH=/usr/bin:/bin"], pipe: pipe.writing.rawValue)
        close(pipe.writing.release())
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(pipe.reading.rawValue, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        var status: CInt = 0
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        return Set(
            String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
                .map(String.init).filter {
                    $0.contains(".") && !$0.hasPrefix(":") && $0 != "org.freedesktop.DBus"
                })
    }
}
