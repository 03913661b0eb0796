import Glibc
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The users without a history` {
    private static func text(_ ground: Ground) throws -> String {
        try SmallFile.text(of: ground.folder.path + "/unrecorded")
    }

    /// Each write makes another file.
    private static func file(_ ground: Ground) -> UInt {
        var status = stat()
        return stat(ground.folder.path + "/unrecorded", &status) == 0 ? UInt(status.st_ino) : 0
    }

    @Test func `are written down once if one of them turns it off and on in a loop`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let users = UnrecordedUsers(stateDirectory: ground.folder.path, log: ground.log)
                try users.set(7, isRecorded: true)
                #expect(Self.file(ground) == 0, "nothing has changed")
                try users.set(7, isRecorded: false)
                let first = Self.file(ground)
                #expect(try Self.text(ground) == "7\n")
                // Without this, the number of the first file could be used again.
                let kept = open(ground.folder.path + "/unrecorded", O_RDONLY)
                defer { close(kept) }
                for _ in 0..<100 {
                    try users.set(7, isRecorded: true)
                    #expect(!users.has(7))
                    try users.set(7, isRecorded: false)
                    #expect(users.has(7))
                }
                #expect(Self.file(ground) == first)
                // Another one is written at once, and so is that the first has it on again.
                try users.set(7, isRecorded: true)
                try users.set(8, isRecorded: false)
                #expect(try Self.text(ground) == "8\n")
                try users.set(8, isRecorded: true)
                #expect(try Self.text(ground) == "8\n")
                users.end()
                #expect(try Self.text(ground) == "")
            }
        }
    }

    @Test func `are those of the file after a restart`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let users = UnrecordedUsers(stateDirectory: ground.folder.path, log: ground.log)
                try users.set(7, isRecorded: false)
                let next = UnrecordedUsers(stateDirectory: ground.folder.path, log: ground.log)
                #expect(next.has(7) && !next.has(8))
            }
        }
    }
}
