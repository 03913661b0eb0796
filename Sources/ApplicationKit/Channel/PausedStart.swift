internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// How the process was launched. `ApplicationMain` finds this out first.
@MainActor
struct PausedStart {
    var record: LaunchRecord
    /// Nil in an app that is run by hand.
    var channel: AppChannel?
    var credentials = Credentials()

    /// Waits until the app is launched, and returns at once if it was started by hand. A process
    /// that will no longer be launched exits here.
    static func awaitLaunch() -> PausedStart {
        let descriptor = cak_channel()
        guard descriptor >= 0 else {
            cak_show_prewarm(false)
            let now = monotonicNanoseconds()
            return PausedStart(
                record: LaunchRecord(
                    LaunchRecord.Message(
                        AppLaunch(
                            cookie: 0, flags: [.foreground, .protectedDataAvailable],
                            requestInstant: now)), resumeInstant: now))
        }
        var pause = Pause(channel: AppChannel(descriptor))
        return cak_is_prewarmed() ? pause.awaitGo() : pause.awaitColdLaunch()
    }
}

/// The wait for the launch. The process has one thread, so a blocking receive suffices. The rules
/// are those of the preload shim: when the channel closes, the process exits, and nothing of the app
/// has run after the pause.
@MainActor
private struct Pause {
    let channel: AppChannel
    private var launch: LaunchRecord.Message?
    private var credentials = Credentials()

    init(channel: AppChannel) { self.channel = channel }

    mutating func awaitColdLaunch() -> PausedStart {
        while launch == nil {
            if let (go, descriptors) = handle(next()) { refuse(go.cookie, descriptors) }
        }
        return start(answering: launch!.launch.cookie)
    }

    mutating func awaitGo() -> PausedStart {
        Self.rehearse()
        let pausedAt = monotonicNanoseconds()
        // (The count of arguments is 0 here, because reading CommandLine would fix its contents.)
        channel.send(
            .paused(
                .init(
                    reason: .applicationMain, threadCount: Self.threadCount,
                    argumentCount: 0, instant: pausedAt)))
        while true {
            guard let (go, descriptors) = handle(next()) else { continue }
            apply(go, descriptors)
            return start(answering: go.cookie, pausedAt: pausedAt, go.arguments)
        }
    }

    /// Decodes a launch and encodes a report, and throws both away, so that the metadata of the
    /// generic types and the pages are in memory before the real launch needs them.
    private static func rehearse() {
        guard let one = try? StringList(["rehearsal"]) else { return }
        var launch = AppLaunch(cookie: 0)
        launch.version = "0"
        for message in [
            DaemonMessage.event(.launch(launch)), .go(GoMessage(arguments: one, environment: one)),
        ] {
            guard let bytes = try? message.encoded().datagram else { continue }
            _ = unsafe try? DaemonMessage(decoding: bytes.span.bytes)
        }
        _ = try? AppMessage.report(.launchStep(.main, at: 0, session: nil)).encoded()
    }

    private func start(
        answering cookie: UInt64, pausedAt: UInt64? = nil, _ arguments: StringList? = nil
    ) -> PausedStart {
        let now = monotonicNanoseconds()
        channel.send(.started(cookie: cookie))
        return PausedStart(
            record: LaunchRecord(
                launch ?? LaunchRecord.Message(AppLaunch(cookie: 0)), pauseInstant: pausedAt,
                resumeInstant: now,
                arguments: arguments), channel: channel, credentials: credentials)
    }

    private func next() -> AppChannel.Incoming {
        while true {
            switch channel.receive(waiting: true) {
            case .message(let incoming): return incoming
            case .refused, .nothing: continue
            case .end: exit(0)
            }
        }
    }

    /// - Returns: the order to go, with its descriptors.
    private mutating func handle(_ incoming: AppChannel.Incoming) -> (GoMessage, [CInt])? {
        switch incoming.message {
        case .event(.launch(let launch)):
            self.launch = LaunchRecord.Message(launch)
            if let file = incoming.descriptors.first { credentials.replace(with: file) }
            return nil
        case .go(let go): return (go, incoming.descriptors)
        case .ping(let cookie): channel.send(.pong(cookie: cookie))
        case .quit: exit(0)
        // Only a program that is held at its first window asks for names.
        case .nameIsWatched: break
        case .event(let event):
            // The daemon sends events only to an app that has been launched.
            refuse(event.cookie ?? 0, incoming.descriptors)
        }
        return nil
    }

    private func refuse(_ cookie: UInt64, _ descriptors: [CInt]) {
        for descriptor in descriptors { close(descriptor) }
        channel.send(.error(errno: EPROTO, cookie: cookie))
    }

    /// The number of threads of this process; 0 if /proc is not mounted. A directory has one link
    /// from each subdirectory, and /proc/self/task has one subdirectory for each thread.
    private static var threadCount: UInt32 {
        var status = stat()
        guard unsafe stat("/proc/self/task", &status) == 0, status.st_nlink >= 2 else { return 0 }
        return UInt32(clamping: status.st_nlink - 2)
    }

    /// Applies the launch to this process. The process cannot return to waiting afterwards, so an
    /// error ends it.
    private func apply(_ go: GoMessage, _ descriptors: [CInt]) {
        do throws(ApplyError) {
            try go.apply(descriptors, except: channel.descriptor)
        } catch {
            channel.send(.error(errno: error.code, cookie: go.cookie))
            exit(0)
        }
        // As on Apple's systems, the variable is there until the app has finished launching.
        cak_show_prewarm(true)
    }
}
