import ApplicationKit
import Glibc

/// Does what notifications say, one line each. (greenroomctl conformance makes it begin and submit.)
///
///     begin NAME, end          begins a background task; ends the latest one that is open
///     remaining                says how much background time is left
///     submit refresh|processing ID [in=SECONDS] [power] [network]
///     cancel [ID], pending
///     complete true|false      completes the run under way
///     register                 says whether it may still register
///
///     PROBE_HEED=no            its expiration handlers end nothing
///     PROBE_RUN=WORD           what its handler does: complete (at once), wait, or nothing
final class TaskApp: Talkative {
    private var open: [(name: String, identifier: BackgroundTaskIdentifier)] = []
    private var task: ScheduledTask?
    static let identifiers = ["refresh", "other", "clean"] + (1...11).map { "work\($0)" }

    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        say("launched because \(application.launchInfo.reason) \(application.applicationState)")
        for identifier in Self.identifiers {
            TaskScheduler.shared.register(forTaskWithIdentifier: identifier) { [unowned self] in
                run($0)
            }
        }
        let isAgain = TaskScheduler.shared.register(forTaskWithIdentifier: "clean") { _ in }
        say("registered again: \(isAgain)")
        return true
    }

    func application(
        _ application: Application, didReceiveRemoteNotification payload: String,
        fetchCompletionHandler completionHandler:
            @escaping @MainActor (Application.BackgroundFetchResult) -> Void
    ) {
        let words = payload.split(separator: " ").map(String.init)
        Task {
            await perform(words, application)
            completionHandler(.newData)
        }
    }

    func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool {
        switch url {
        case "conformance:begin": begin("conformance", application)
        case "conformance:submit": Task { await submit(["submit", "refresh", "refresh"]) }
        default: say("open \(url)")
        }
        return true
    }

    private func perform(_ words: [String], _ application: Application) async {
        switch words[0] {
        case "begin": begin(words[1], application)
        case "end": if let last = open.popLast() { end(last, application) }
        case "remaining": say("remaining \(Self.words(application.backgroundTimeRemaining))")
        case "submit": await submit(words)
        case "cancel" where words.count > 1:
            TaskScheduler.shared.cancel(taskRequestWithIdentifier: words[1])
        case "cancel": TaskScheduler.shared.cancelAllTaskRequests()
        case "pending":
            let pending = await TaskScheduler.shared.pendingTaskRequests()
            say("pending \(pending.map { "\(type(of: $0)) \($0.identifier)" })")
        case "complete": task?.setTaskCompleted(success: words[1] == "true")
        case "register":
            let isRegistered = TaskScheduler.shared.register(forTaskWithIdentifier: "late") { _ in }
            say("registered late: \(isRegistered)")
        default: say("what? \(words)")
        }
    }

    private func begin(_ name: String, _ application: Application) {
        let identifier = application.beginBackgroundTask(withName: name) { [unowned self] in
            say("expired \(name)")
            if variable("PROBE_HEED") == "no" {
                let late = application.beginBackgroundTask(withName: "late")
                return say("late is \(late == .invalid ? "invalid" : "valid")")
            }
            guard let index = open.firstIndex(where: { $0.name == name }) else { return }
            end(open.remove(at: index), application)
        }
        say("begin \(name) \(identifier == .invalid ? "invalid" : "valid")")
        open.append((name, identifier))
    }

    private func end(
        _ task: (name: String, identifier: BackgroundTaskIdentifier), _ application: Application
    ) {
        say("end \(task.name)")
        application.endBackgroundTask(task.identifier)
        // A second call does nothing.
        application.endBackgroundTask(task.identifier)
    }

    private func submit(_ words: [String]) async {
        var request: any TaskRequest = AppRefreshTaskRequest(identifier: words[2])
        if words[1] == "processing" {
            var processing = ProcessingTaskRequest(identifier: words[2])
            processing.requiresExternalPower = words.contains("power")
            processing.requiresNetworkConnectivity = words.contains("network")
            request = processing
        }
        if let delay = words.first(where: { $0.hasPrefix("in=") }) {
            request.beginNoEarlier(than: .milliseconds(Int(delay.dropFirst(3))! * 1000))
        }
        do throws(TaskScheduler.Error) {
            try await TaskScheduler.shared.submit(request)
            say("submitted \(words[2])")
        } catch {
            say("refused \(words[2]): \(error.code)")
        }
    }

    private func run(_ task: ScheduledTask) {
        say("run \(task.identifier) \(type(of: task)) \(Application.shared.applicationState)")
        self.task = task
        switch variable("PROBE_RUN") {
        case "complete": task.setTaskCompleted(success: true)
        case "wait":
            task.expirationHandler = {
                say("task expired")
                task.setTaskCompleted(success: false)
            }
        default: task.expirationHandler = { say("task expired") }
        }
    }

    private static func words(_ duration: Duration) -> String {
        duration == .seconds(Int64.max)
            ? "unlimited" : duration > .zero ? "limited" : "none"
    }
}
