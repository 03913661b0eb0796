import GreenroomControl

extension Report {
    static func metrics(_ metrics: Control.MetricsReply) -> String {
        let total = metrics.total
        var text = metrics.app.harmless + "\n"
        for launch in total.launches {
            text += "  \(launch.metric.words):\n" + histogram(launch.buckets)
        }
        if !total.hangs.isEmpty { text += "  hangs:\n" + histogram(total.hangs) }
        if !total.exits.isEmpty { text += "  exits (in front, in the background):\n" }
        for exit in total.exits {
            text += "    \(exit.exit.words): \(exit.foreground), \(exit.background)\n"
        }
        if !total.savings.isEmpty { text += "  saved by launches from the pool:\n" }
        for saving in total.savings {
            let time = Phrase.span(uSec: saving.savedUSec)
            text += "    \(saving.depth.rawValue.harmless): \(time), "
            text += "\(saving.launchCount) launch\(saving.launchCount == 1 ? "" : "es")\n"
        }
        text += "  in front: \(Phrase.age(uSec: total.foregroundUSec)), in the background: "
        text += Phrase.age(uSec: total.backgroundUSec) + "\n"
        if let peak = total.peakByteCount { text += "  most memory: \(Phrase.bytes(peak))\n" }
        if let average = total.averageSuspendedByteCount {
            text += "  suspended, on average: \(Phrase.bytes(average))\n"
        }
        for diagnostic in metrics.diagnostics { text += "  - \(line(diagnostic))\n" }
        if metrics.undeliveredCount > 0 {
            text += "  undelivered payloads: \(metrics.undeliveredCount)\n"
        }
        return text
    }

    private static func histogram(_ buckets: [Control.HistogramBucket]) -> String {
        buckets.map { bucket in
            let from = Phrase.duration(uSec: bucket.fromUSec)
            let end = bucket.toUSec.map { "to " + Phrase.duration(uSec: $0) } ?? "and more"
            return "    \(from) \(end): \(bucket.count)\n"
        }.joined()
    }

    private static func line(_ diagnostic: Control.Diagnostic) -> String {
        let place = diagnostic.wasInForeground ? "in front" : "in the background"
        return diagnostic.kind.rawValue + ": " + diagnostic.reason.harmless
            + (diagnostic.signal.map { ", signal \($0)" } ?? "")
            + (diagnostic.durationUSec.map { ", " + Phrase.duration(uSec: $0) } ?? "")
            + ", \(place)"
    }
}

extension Control.Word<Control.LaunchMetric> {
    fileprivate var words: String {
        guard let known else { return rawValue.harmless }
        return switch known {
        case .firstDraw: "cold launch to first draw"
        case .optimizedFirstDraw: "prewarmed launch to first draw"
        case .resume: "return to the front"
        case .extendedLaunch: "extended launch"
        }
    }
}

extension Control.Word<Control.MetricExit> {
    fileprivate var words: String { rawValue.harmless.replacing("_", with: " ") }
}
