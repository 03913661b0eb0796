import AppFolders
import Glibc
import GreenroomLinux

/// A message bus (dbus-daemon(1)) that starts no services.
final class PrivateBus {
    static let programs = ["dbus-daemon", "dbus-send"]
    let address: String
    private let server: MeasuredServer
    private let clock: SampleClock
    private let sender: [String]

    private static func address(in folder: String) -> String { "unix:path=\(folder)/bus" }

    /// Writes the configuration of the bus.
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
    ///   - paths: the paths of ``programs``.
    ///   - prefix: words before the programs', which set their user. Only the bus's own user and
    ///     root may watch names.
    init(
        _ paths: [String], _ prefix: [String], in folder: String, clock: SampleClock
    ) throws(Failure) {
        address = Self.address(in: folder)
        sender = prefix + [paths[1]]
        self.clock = clock
        // The bus listens once it has printed its address.
        server = try MeasuredServer(
            prefix + [
                paths[0], "--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile",
                "--print-address",
            ], clock: clock)
    }

    func end() { server.end() }

    private static let replyLimit = 64 << 10

    /// The names that programs have taken, without the bus's own name and those of connections.
    func names() throws(Failure) -> Set<String> {
        let text = try MeasuredServer.output(
            sender + [
                "--bus=\(address)", "--print-reply=literal", "--dest=org.freedesktop.DBus",
                "/", "org.freedesktop.DBus.ListNames",
            ], clock: clock, atMost: Self.replyLimit)
        return Set(
            String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
                .map(String.init).filter {
                    $0.contains(".") && !$0.hasPrefix(":") && $0 != "org.freedesktop.DBus"
                })
    }
}
