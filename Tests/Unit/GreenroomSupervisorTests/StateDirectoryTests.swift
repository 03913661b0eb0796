import Glibc
import GreenroomControl
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct StateDirectoryTests {
    @Test func `the directory is made, with every parent that is missing`() async {
        // In a process of its own, because the mask applies to all threads.
        await #expect(processExitsWith: .exitCode(0)) {
            let folder = try TemporaryDirectory()
            let path = folder.path + "/.local/state/greenroom"
            umask(0o077)
            #expect(StateDirectory.make(path) == nil)
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
            #expect(status.st_mode & 0o777 == (getuid() == 0 ? 0o711 : 0o700))
            #expect(StateDirectory.make(path) == nil)
        }
    }

    @Test func `a client can learn why nothing is kept`() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("", to: "file") + "/state"
        let note = try #require(StateDirectory.make(path))
        #expect(note.code == "no_state" && note.text.contains(path), "\(note)")
    }
}
