internal import ApplicationKit
internal import Glibc

/// Fetch: keeps a history of the first line of a file, with one entry for each refresh. The file is
/// the app's first argument, by default /proc/loadavg. A timer in its manifest launches it in the
/// background. When the user opens it, it shows the history and schedules the next refresh, and
/// each refresh schedules the one after it.
@main final class FetchApp: ApplicationDelegate {
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        let source = Self.source(application)
        TaskScheduler.shared.register(forTaskWithIdentifier: Self.refresh) {
            Self.refresh($0, from: source)
        }
        // The daemon runs the scheduled task after the launch.
        if application.launchInfo.reason == .scheduledTask { return true }
        let isScheduled = application.launchInfo.reason == .timer
        Task {
            let line = await Self.fetch(source)
            History.append(line)
            say(isScheduled ? "fetched: \(line)\n" : History.text)
            // The work is done, and there is nothing left to wait for in the background.
            if application.applicationState == .background { exit(0) }
            await Self.scheduleRefresh()
        }
        return true
    }

    private static func source(_ application: Application) -> String {
        let arguments = application.launchInfo.arguments
        return arguments.count > 1 ? arguments[1] : "/proc/loadavg"
    }

    // MARK: Scheduled work

    private static let refresh = "io.greenroom.Fetch.refresh"

    private static func scheduleRefresh() async {
        var request = AppRefreshTaskRequest(identifier: refresh)
        request.beginNoEarlier(than: .seconds(15 * 60))
        do {
            try await TaskScheduler.shared.submit(request)
        } catch {
            say("the next refresh is not scheduled: \(error)\n")
        }
    }

    private static func refresh(_ task: ScheduledTask, from source: String) {
        let work = Task {
            await scheduleRefresh()
            let line = await fetch(source)
            if Task.isCancelled { return }
            History.append(line)
            say("refreshed: \(line)\n")
            task.setTaskCompleted(success: true)
        }
        task.expirationHandler = {
            work.cancel()
            say("out of time\n")
            task.setTaskCompleted(success: false)
        }
    }

    /// Reads the file off the main thread, because it may be slow.
    @concurrent private static func fetch(_ path: String) async -> String {
        guard let file = unsafe fopen(path, "re") else { return "\(path): errno \(errno)" }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

func say(_ text: String) {
    var text = text
    text.withUTF8 { _ = unsafe write(1, $0.baseAddress, $0.count) }
}
