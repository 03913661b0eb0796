import ApplicationKit
import Glibc

@main final class Hello: ApplicationDelegate {
    init() {}

    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        let info = application.launchInfo
        say("Launched, prewarmed: \(info.wasPrewarmed)")
        say("From the request to here: \(info.resumeInstant - info.requestInstant)")
        return true
    }

    func applicationDidBecomeActive(_ application: Application) { say("Active") }
    func applicationDidEnterBackground(_ application: Application) { say("In the background") }
    func applicationWillTerminate(_ application: Application) { say("Goodbye") }
}

/// Writes at once; `print` does so only on a terminal.
func say(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
}
