import ApplicationKit

/// Code of the articles that no sample has; the articles' test looks for it here.
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
        guard let url = launchOptions?[.url] else { return true }
        // False: this app cannot open it, and is not asked to.
        return url.hasPrefix("notes:")
    }

    static func measure() throws(LaunchTaskError) {
        try MetricManager.extendLaunchMeasurement(forTaskID: .init("first page"))
        try MetricManager.finishExtendedLaunchMeasurement(forTaskID: .init("first page"))
    }

    private static func askForLogin() {}
    private static func logIn(with token: [UInt8]) {}
    private static func waitForUnlocking() {}
    private static func complain(about error: ProtectedDataError) {}
}

final class Measurements: MetricManagerSubscriber {
    func didReceive(_ payloads: [MetricPayload]) {
        for payload in payloads { upload(payload.jsonRepresentation()) }
    }
    func didReceive(_ payloads: [DiagnosticPayload]) {}
}

private func upload(_ text: String) {}
