internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// How the process came to be launched: what stands between `ApplicationMain`'s call and its work.
@MainActor
struct PausedStart {
    var launch: AppLaunch
    /// Nil without Greenroom.
    var channel: AppChannel?
    var credentials = Credentials()
    /// `CLOCK_MONOTONIC` in nanoseconds; nil when the process was not prewarmed.
    var pauseInstant: UInt64?
    var resumeInstant: UInt64
    /// The launch's, where a prewarmed process got them with its order to go.
    var arguments: StringList?

    /// The variable that Apple sets, and removes when the app has finished launching.
    static let prewarmName = "ActivePrewarm"

    /// Returns when the app is launched: at once if it is launched cold or by hand. A process that nobody
    /// will launch any more ends here.
    static func awaitLaunch() -> PausedStart {
        let descriptor = cak_channel()
        guard descriptor >= 0 else {
            unsafe unsetenv(prewarmName)
            let now = monotonicNanoseconds()
            return PausedStart(
                launch: AppLaunch(
                    cookie: 0, flags: [.foreground, .protectedDataAvailable], requestInstant: now),
                resumeInstant: now)
        }
        var pause = Pause(channel: AppChannel(descriptor))
        return cak_is_prewarmed() ? pause.awaitGo() : pause.awaitColdLaunch()
    }
}

/// The wait itself. One thread: a plain blocking receive, as in the preload shim, and its rules: the end of
/// the channel is the end of the process, and application-main has not run.
@MainActor
private struct Pause {
    let channel: AppChannel
    private var launch: AppLaunch?
    private var credentials = Credentials()

    init(channel: AppChannel) { self.channel = channel }

    mutating func awaitColdLaunch() -> PausedStart {
        while launch == nil {
            if let (go, descriptors) = handle(next()) { refuse(go.cookie, descriptors) }
        }
        return start(answering: launch!.cookie, pausedAt: nil)
    }

    mutating func awaitGo() -> PausedStart {
        let pausedAt = monotonicNanoseconds()
        // (Looking at the arguments would fix them: CommandLine keeps what it finds first.)
        channel.send(
            .paused(
                .init(
                    reason: .applicationMain, threadCount: Self.threadCount,
                    argumentCount: 0, instant: pausedAt)))
        while true {
            guard let (go, descriptors) = handle(next()) else { continue }
            apply(go, descriptors)
            var start = start(answering: go.cookie, pausedAt: pausedAt)
            start.arguments = go.arguments
            return start
        }
    }

    private func start(answering cookie: UInt64, pausedAt: UInt64?) -> PausedStart {
        let now = monotonicNanoseconds()
        channel.send(.started(cookie: cookie))
        return PausedStart(
            launch: launch ?? AppLaunch(cookie: 0), channel: channel, credentials: credentials,
            pauseInstant: pausedAt, resumeInstant: now)
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
            self.launch = launch
            if let file = incoming.descriptors.first { credentials.adopt(file) }
            return nil
        case .go(let go): return (go, incoming.descriptors)
        case .ping(let cookie): channel.send(.pong(cookie: cookie))
        case .quit: exit(0)
        case .event(let event):
            // Nothing happens to an app that is not launched.
            refuse(event.cookie ?? 0, incoming.descriptors)
        }
        return nil
    }

    private func refuse(_ cookie: UInt64, _ descriptors: [CInt]) {
        for descriptor in descriptors { close(descriptor) }
        channel.send(.error(errno: EPROTO, cookie: cookie))
    }

    /// A directory has a link from each subdirectory: one per thread here. 0 when /proc is missing.
    private static var threadCount: UInt32 {
        var status = stat()
        guard unsafe stat("/proc/self/task", &status) == 0, status.st_nlink >= 2 else { return 0 }
        return UInt32(clamping: status.st_nlink - 2)
    }

    /// From here there is no way back to waiting: what fails, fails the instance.
    private func apply(_ go: GoMessage, _ descriptors: [CInt]) {
        do throws(ApplyError) {
            try go.apply(descriptors, except: channel.descriptor)
        } catch {
            channel.send(.error(errno: error.code, cookie: go.cookie))
            exit(0)
        }
        // As Apple has it: there until the app has finished launching.
        unsafe setenv(PausedStart.prewarmName, "1", 1)
    }
}
