import AppFolders
import Glibc
import GreenroomLinux

/// A message bus (dbus-daemon(1)) on which nothing is started that is not there.
final class PrivateBus {
    static let programs = ["dbus-daemon", "dbus-send"]
    let address: String
    private let process: pid_t
    private let sender: [String]

    private static func address(in folder: String) -> String { "unix:path=\(folder)/bus" }

    /// Writes the file by which it is started.
    static func configure(in folder: String) throws(SystemError) {
        let configuration = """
            <busconfig>
              <type>session</type>
              <listen>\(address(in: folder))</listen>
              <policy context="default">
                <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
              </policy>
            </busconfig>

            """
        try AppFolderChange.write(Array(configuration.utf8), to: folder + "/bus.conf")
    }

    /// - Parameters:
    ///   - paths: those of `programs`.
    ///   - prefix: words before theirs. Only the bus's own user and root may watch names.
    init(_ paths: [String], _ prefix: [String], in folder: String) throws(SystemError) {
        address = Self.address(in: folder)
        sender = prefix + [paths[1]]
        let words = prefix + [paths[0]]
        let pipe = try FileDescriptor.pipe()
        process = try MeasuredProcess.spawn(
            words[0],
            words + [
                "--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile", "--print-address",
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
            sender[0],
            sender + [
                "--bus=\(address)", "--print-reply=literal", "--dest=org.freedesktop.DBus",
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
