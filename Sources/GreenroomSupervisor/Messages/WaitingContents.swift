internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The content of each instance's launches and requests, while it waits for a scene that is not
/// connected yet. The content of a background launch waits for a long time, so it is also kept in a
/// file, for another supervisor.
@LoopActor
final class WaitingContents: InstanceFiles {
    private let directory: String
    private let instances: InstanceTable
    private let reporter: Reporter

    private final class Waiting: InstancePart {
        var content: AppContent?
    }

    /// True if the directory exists, made by this or a former supervisor.
    private var hasDirectory: Bool

    init(instances: InstanceTable, reporter: Reporter, runtimeDirectory: String) {
        self.instances = instances
        self.reporter = reporter
        directory = runtimeDirectory + "/contents"
        hasDirectory = unsafe access(directory, F_OK) == 0
        instances.add(self)
    }

    private func path(of instance: InstanceIdentifier) -> String { "\(directory)/\(instance)" }

    func set(_ content: AppContent, for instance: InstanceIdentifier, isKept: Bool) {
        instances.part(Waiting.self, of: instance)?.content = content.isEmpty ? nil : content
        if isKept, !content.isEmpty { keep(content, for: instance) }
    }

    /// Adds to what waits for the instance already. Only as much waits as one message can deliver:
    /// the oldest is dropped, for example when a client asks again and again and no scene ever
    /// connects.
    func add(_ content: AppContent, for instance: InstanceIdentifier, isKept: Bool) {
        var whole = waitingContent(of: instance) ?? AppContent()
        whole.add(content)
        if !Self.fits(whole), let app = instances[instance]?.app {
            reporter.say(
                .warning, "more waits for a scene than one message delivers; the oldest is dropped",
                of: app, instance)
        }
        while !Self.fits(whole), whole.dropOldest() {}
        set(whole, for: instance, isKept: isKept)
    }

    private static func fits(_ content: AppContent) -> Bool {
        (try? message(of: content).encoded()) != nil
    }

    /// The form in which the content is kept, and in which it would be delivered.
    private static func message(of content: AppContent) -> DaemonMessage {
        .event(.deliver(content, session: nil, cookie: 0))
    }

    private func waitingContent(of instance: InstanceIdentifier) -> AppContent? {
        instances.known(Waiting.self, of: instance)?.content ?? keptContent(of: instance)
    }

    /// Returns the instance's content and forgets it.
    func take(_ instance: InstanceIdentifier) -> AppContent {
        let kept = keptContent(of: instance)
        if kept != nil { unsafe unlink(path(of: instance)) }
        let waiting = instances.known(Waiting.self, of: instance)
        defer { waiting?.content = nil }
        return waiting?.content ?? kept ?? AppContent()
    }

    func remove(_ instance: InstanceIdentifier) {
        if hasDirectory { unsafe unlink(path(of: instance)) }
    }

    /// Content that cannot be written waits in memory only.
    private func keep(_ content: AppContent, for instance: InstanceIdentifier) {
        guard let bytes = try? Self.message(of: content).encoded().datagram else { return }
        unsafe mkdir(directory, 0o700)
        hasDirectory = true
        try? SmallFile.replace(path(of: instance), with: bytes, mode: 0o600)
    }

    private func keptContent(of instance: InstanceIdentifier) -> AppContent? {
        guard hasDirectory,
            let file = try? FileDescriptor.open(path(of: instance), O_RDONLY | O_NOFOLLOW),
            let bytes = try? file.readBytes(atMost: WireFormat.datagramLimit),
            case .event(.deliver(let content, _, _))? = try? unsafe DaemonMessage(
                decoding: bytes.span.bytes)
        else { return nil }
        return content
    }
}

extension AppContent {
    /// Drops the older half of the URLs and of the activities: dropping them one by one would
    /// encode the rest each time.
    ///
    /// - Returns: false if there is nothing to drop.
    fileprivate mutating func dropOldest() -> Bool {
        if urls.isEmpty, userActivities.isEmpty { return false }
        urls.removeFirst((urls.count + 1) / 2)
        userActivities.removeFirst((userActivities.count + 1) / 2)
        return true
    }
}
