internal import GreenroomLinux
internal import Systemd

/// The file with an instance's credentials, until it is sent.
@LoopActor
final class SealedCredentials: InstancePart {
    var file: FileDescriptor?

    func take() -> FileDescriptor? {
        defer { file = nil }
        return file
    }
}
