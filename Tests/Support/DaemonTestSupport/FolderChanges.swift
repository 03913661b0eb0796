import Glibc
import GreenroomLinux
import TestSupport

/// Returns when the condition holds. It is checked now and after each change in the folder.
public func awaitChange(
    in folder: String, _ what: String, _ holds: () throws -> Bool
) throws {
    let inotify = try Inotify()
    _ = try inotify.watch(
        folder, for: UInt32(IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_TO))
    while try !holds() {
        guard try inotify.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("never: \(what)")
        }
        _ = try inotify.read()
    }
}
