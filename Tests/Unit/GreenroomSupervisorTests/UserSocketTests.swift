import Glibc
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `A user's socket` {
    /// A launch's record comes before the report of its end, but the loop may learn of the report
    /// first.
    @Test func `is read at once when that is asked for`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let folder = try TemporaryDirectory()
                var heard: [String] = []
                let socket = try UserSocket(
                    boundAt: folder.path + "/socket", of: geteuid(), byteLimit: 100,
                    disposer: try Disposer()
                ) { text, sender in
                    #expect(sender.pid == getpid())
                    heard.append(text)
                }
                setenv("NOTIFY_SOCKET", folder.path + "/socket", 1)
                for word in ["one", "two"] { Notify.ready(status: word) }
                #expect(heard.isEmpty)
                socket.drain()
                #expect(heard.count == 2 && heard.last?.contains("two") == true, "\(heard)")
            }
        }
    }
}
