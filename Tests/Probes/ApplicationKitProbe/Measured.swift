import ApplicationKit
import Glibc

/// Subscribes to its metrics, and does what URLs ask for:
///
///     probe:draw          says that it has drawn
///     probe:hang          keeps the main thread for 300 ms
///     probe:finish/NAME   finishes a launch task of PROBE_TASKS=NAME,NAME
///     probe:extend/NAME   begins a launch task, too late
///     probe:crash         ends by SIGSEGV
final class Measured: Talkative, MetricManagerSubscriber {
    init() {
        if variable("PROBE_UNSUBSCRIBED") == nil { MetricManager.shared.add(self) }
    }

    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool {
        for name in (variable("PROBE_TASKS") ?? "").split(separator: ",") {
            extend(String(name))
        }
        return true
    }

    func didReceive(_ payloads: [MetricPayload]) {
        for payload in payloads {
            let launches = payload.applicationLaunchMetrics
            let counts = [
                launches.histogrammedTimeToFirstDraw, launches.histogrammedOptimizedTimeToFirstDraw,
                launches.histogrammedApplicationResumeTime, launches.histogrammedExtendedLaunch,
                payload.applicationResponsivenessMetrics.histogrammedApplicationHangTime,
            ].map { String($0.totalCount) }
            let exits = payload.applicationExitMetrics
            let length = (payload.timeStampEnd - payload.timeStampBegin) / .milliseconds(1)
            say(
                "payload \(counts.joined(separator: " ")) "
                    + "\(exits.foregroundExitData.cumulativeNormalAppExitCount) "
                    + "\(exits.foregroundExitData.cumulativeBadAccessExitCount) \(Int(length)) ms "
                    + payload.jsonRepresentation())
        }
    }

    func didReceive(_ payloads: [DiagnosticPayload]) {
        for payload in payloads {
            switch payload.diagnostic {
            case .crash(let reason, let signal): say("crash \(reason) \(signal.map { $0 } ?? 0)")
            case .hang(let callback, let duration):
                say("hang \(callback) \(duration >= .milliseconds(250))")
            case .launch(let metric, _): say("launch \(metric)")
            }
        }
    }

    func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool {
        let words = url.dropFirst("probe:".count).split(separator: "/").map(String.init)
        switch words[0] {
        case "draw": application.didDrawFirstFrame()
        case "hang": usleep(300_000)
        case "extend": extend(words[1])
        case "finish":
            do {
                try MetricManager.finishExtendedLaunchMeasurement(forTaskID: .init(words[1]))
                say("finished \(words[1])")
            } catch { say("not finished \(words[1]): \(error)") }
        case "crash":
            signal(SIGSEGV, SIG_DFL)
            raise(SIGSEGV)
        default: break
        }
        say("did \(url)")
        return true
    }

    private func extend(_ name: String) {
        do {
            try MetricManager.extendLaunchMeasurement(forTaskID: .init(name))
            say("extended \(name)")
        } catch { say("not extended \(name): \(error)") }
    }
}
