internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What was launched or asked for and waits for a scene that is not connected yet, by instance. What
/// came with a background launch waits long, so it is kept in a file too, for another supervisor.
@LoopActor
final class WaitingContents: InstanceFiles {
    private let directory: String
    private let instances: InstanceTable

    private final class Waiting: InstancePart {
        var content: AppContent?
    }

    /// The directory is there, made by us or by a former supervisor.
    private var hasDirectory: Bool

    init(instances: InstanceTable, runtimeDirectory: String) {
        self.instances = instances
        directory = runtimeDirectory + "/contents"
        hasDirectory = unsafe access(directory, F_OK) == 0
        instances.add(self)
    }

    private func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    func set(_ content: AppContent, for instance: InstanceIdentifier, isKept: Bool) {
        instances.part(Waiting.self, of: instance)?.content = content.isEmpty ? nil : content
        if isKept, !content.isEmpty { keep(content, for: instance) }
    }

    /// Gives it out, once.
    func take(_ instance: InstanceIdentifier) -> AppContent {
        let kept = keptContent(of: instance)
        unsafe unlink(path(of: instance))
        let waiting = instances.known(Waiting.self, of: instance)
        defer { waiting?.content = nil }
        return waiting?.content ?? kept ?? AppContent()
    }

    func remove(_ instance: InstanceIdentifier) {
        if hasDirectory { unsafe unlink(path(of: instance)) }
    }

    /// As it would be delivered. What cannot be written waits in memory alone.
    private func keep(_ content: AppContent, for instance: InstanceIdentifier) {
        let message = DaemonMessage.event(.deliver(content, session: nil, cookie: 0))
        guard let bytes = try? message.encoded().datagram else { return }
        unsafe mkdir(directory, 0o700)
        hasDirectory = true
        try? SmallFile.replace(path(of: instance), with: bytes, mode: 0o600)
    }

    private func keptContent(of instance: InstanceIdentifier) -> AppContent? {
        guard let file = try? FileDescriptor.open(path(of: instance), O_RDONLY | O_NOFOLLOW),
            let bytes = try? file.readBytes(atMost: WireFormat.datagramLimit),
            case .event(.deliver(let content, _, _))? = try? unsafe DaemonMessage(
                decoding: bytes.span.bytes)
        else { return nil }
        return content
    }
}
