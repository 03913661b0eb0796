/// An app with Foundation: URLs of its type, and everything that may run on the main thread.
///
///     PROBE_IDLE=1    nothing repeats, so that wake-ups can be counted
import ApplicationKitFoundation
import Dispatch
import Foundation

ApplicationMain(FoundationApp.self)

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

final class FoundationApp: URLApplicationDelegate {
    private var timers: [Timer] = []

    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        if let url = launchOptions?[.url] as? URL { say("launched for \(url.host ?? "-")") }
        if ProcessInfo.processInfo.environment["PROBE_IDLE"] == nil { runEverything() }
        return true
    }

    private func runEverything() {
        let timer = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { timer in
            say("timer")
            timer.invalidate()
        }
        timers.append(timer)
        let common = Timer(timeInterval: 0.03, repeats: false) { _ in say("common timer") }
        RunLoop.main.add(common, forMode: .common)
        RunLoop.main.perform { say("performed") }
        Thread.detachNewThread { RunLoop.main.perform { say("performed from a thread") } }
        DispatchQueue.main.async { say("dispatched") }
        DispatchQueue.main.asyncAfter(deadline: .now() + 0.02) { say("dispatched later") }
        Task {
            try? await Task.sleep(for: .milliseconds(20))
            say("slept")
        }
    }

    func application(
        _ application: Application, open url: URL, options: OpenURLContext.Options
    ) -> Bool {
        say("open \(url.host ?? "-") from \(options.sourceApplication ?? "-")")
        return true
    }

    func applicationDidBecomeActive(_ application: Application) {
        say("active")
        guard !timers.isEmpty else { return }
        timers.append(
            Timer.scheduledTimer(withTimeInterval: 0.05, repeats: false) { _ in
                MainActor.assumeIsolated {
                    Application.shared.afterLaunch { say("put off") }
                }
            })
    }
    func applicationWillTerminate(_ application: Application) { say("end") }
}
