internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Sends messages to apps made with the SDK, on channels that live as long as the apps.
@LoopActor
final class AppMessenger {
    private let instances: InstanceTable
    private let reporter: Reporter

    init(instances: InstanceTable, reporter: Reporter) {
        self.instances = instances
        self.reporter = reporter
    }

    /// A cookie that is never given twice, not even by another supervisor.
    func freeCookie() -> UInt64 { AppCookie.free(MonotonicClock.nanoseconds).rawValue }

    /// Sends the event. If it cannot be sent, the app does not acknowledge it, and its deadline
    /// passes.
    func send(_ event: AppEvent, to identifier: InstanceIdentifier) {
        guard let instance = instances[identifier], let channel = instance.channel else { return }
        do {
            let credentials =
                event.carriesCredentials
                ? instances.known(SealedCredentials.self, of: identifier)?.take() : nil
            _ = try channel.send(
                try DaemonMessage.event(event).encoded().datagram,
                descriptors: credentials.map { [$0.rawValue] } ?? [])
            withExtendedLifetime(credentials) {}
        } catch {
            reporter.say(
                .warning, "sending a message to instance \(identifier): \(error)", of: instance.app,
                identifier)
        }
    }

    /// Sends an event whose acknowledgement the core does not wait for. Returns the event's cookie;
    /// nil if the instance has no channel.
    func send(
        to identifier: InstanceIdentifier, _ make: (UInt64) -> AppEvent
    ) -> UInt64? {
        guard instances[identifier]?.channel != nil else { return nil }
        let cookie = freeCookie()
        send(make(cookie), to: identifier)
        return cookie
    }

    func answer(
        _ instance: InstanceIdentifier, _ cookie: UInt64, _ answer: AppEvent.Answer
    ) {
        send(.answer(request: cookie, answer), to: instance)
    }
}

extension AppEvent {
    fileprivate var carriesCredentials: Bool {
        switch self {
        case .launch(let launch): launch.flags.contains(.credentials)
        case .credentials: true
        case .lifecycle, .connectScene, .scene, .discardScenes, .deliver, .handleEvents, .answer,
            .restoreState, .background, .metrics, .diagnostics:
            false
        }
    }
}
