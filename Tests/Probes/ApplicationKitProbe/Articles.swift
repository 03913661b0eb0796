import ApplicationKit

/// Code that the articles show and that is in no sample. The articles' test looks for it here.
@MainActor enum Articles {
    static func logIn(_ application: Application) {
        do throws(ProtectedDataError) {
            guard let token = try application.credential(named: "token") else {
                return askForLogin()
            }
            logIn(with: token)
        } catch .unavailable {
            waitForUnlocking()
        } catch {
            complain(about: error)
        }
    }

    static func canOpen(_ launchOptions: Application.LaunchOptions?) -> Bool {
        guard let url = launchOptions?[.urlText] else { return true }
        // False: this app cannot open it, and will not be asked to.
        return url.hasPrefix("notes:")
    }

    static func measure() throws(LaunchTaskError) {
        try MetricManager.extendLaunchMeasurement(forTaskID: .init("first page"))
        try MetricManager.finishExtendedLaunchMeasurement(forTaskID: .init("first page"))
    }

    static func schedule() async {
        var request = ProcessingTaskRequest(identifier: "org.example.index")
        request.requiresExternalPower = true
        try? await TaskScheduler.shared.submit(request)
    }

    private static func askForLogin() {}
    private static func logIn(with token: [UInt8]) {}
    private static func waitForUnlocking() {}
    private static func complain(about error: ProtectedDataError) {}
}

@MainActor final class Uploader {
    private var task = BackgroundTaskIdentifier.invalid

    func upload(_ page: String) {
        task = Application.shared.beginBackgroundTask(withName: "upload") { [self] in
            cancel()
            finish()
        }
        // No time is left: the upload waits for the next launch.
        guard task != .invalid else { return keep(page) }
        Task {
            await send(page)
            finish()
        }
    }

    private func finish() {
        Application.shared.endBackgroundTask(task)
        task = .invalid
    }

    private func cancel() {}
    private func keep(_ page: String) {}
    private func send(_ page: String) async {}
}

/// An app without scenes that keeps where its user was.
final class ReaderApp: ApplicationDelegate {
    let page = Page()

    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        application.registerObject(page, forStateRestoration: "page")
        return true
    }

    func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool { true }

    func application(
        _ application: Application, shouldRestoreSecureApplicationState coder: StateCoder
    ) -> Bool { coder.launchDocumentURL == nil }
}

final class Page: StateRestoring {
    private var number = 1

    func encodeRestorableState(with coder: StateCoder) { coder.encode(number, forKey: "number") }
    func decodeRestorableState(with coder: StateCoder) {
        number = coder.decode(Int.self, forKey: "number") ?? 1
    }
}

final class Measurements: MetricManagerSubscriber {
    func didReceive(_ payloads: [MetricPayload]) {
        for payload in payloads { upload(payload.jsonRepresentation()) }
    }
    func didReceive(_ payloads: [DiagnosticPayload]) {}
}

private func upload(_ text: String) {}
