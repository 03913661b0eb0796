import Glibc
import GreenroomControl

/// The pictures of the report. They share one time axis: marks that are one above the other are of
/// the same time.
struct Charts {
    let span: TimeSpan

    private static let width = 960.0
    private static let left = 168.0
    private static let right = 948.0
    private static let axisHeight = 22.0
    /// Shortened names keep the ends of identifiers, at which apps differ.
    private static let nameCells = 22
    /// At most this many launches are drawn, the latest, and as many paused instances.
    static let shapeLimit = 4000
    /// At most this many apps have a row.
    static let rowLimit = 16

    private func x(_ time: Int64) -> Double {
        Self.left + span.place(of: time) * (Self.right - Self.left)
    }

    private func frame(_ height: Double, _ name: String, _ body: String) -> String {
        "<svg viewBox=\"0 0 \(Markup.number(Self.width)) \(Markup.number(height))\" role=\"img\" "
            + "aria-label=\"\(Markup.escaped(name))\">\n\(body)</svg>\n"
    }

    /// A line and a name for each day.
    private func axis(to bottom: Double) -> String {
        var text = ""
        let days = span.midnights
        // If all days of a long span had a name, the names would overlap.
        let step = max(1, (days.count + 9) / 10)
        for (index, day) in days.enumerated() {
            let place = x(day.time)
            text += Markup.line("grid", from: (place, 4), to: (place, bottom))
            if index % step == 0, place < Self.right - 40 {
                text += Markup.label(day.name, x: place + 4, y: bottom + 15)
            }
        }
        return text
            + Markup.line("axis", from: (Self.left, bottom), to: (Self.right, bottom))
    }

    // MARK: Launches

    /// A dot for each launch: when, and how long it took.
    func launches(_ launches: [Control.LaunchRecord]) -> String {
        let shown = launches.filter { $0.duration != nil && $0.style != nil }
            .suffix(Self.shapeLimit)
        let times = shown.compactMap(\.duration)
        let (least, most) = (times.min() ?? 1000, times.max() ?? 1_000_000)
        // A scale by powers of ten, because launches take from a millisecond to many seconds.
        let low = floor(log10(Double(max(least, 1))))
        // The greatest power of ten that 64 bits hold.
        let high = min(18, max(low + 1, ceil(log10(Double(max(most, 1))))))
        let (top, bottom) = (8.0, 228.0)
        func y(_ uSec: Int64) -> Double {
            bottom - (log10(Double(max(uSec, 1))) - low) / (high - low) * (bottom - top)
        }
        var text = axis(to: bottom)
        for power in stride(from: low, through: high, by: 1) {
            let uSec = Int64(pow(10, min(power, 18)))
            text += Markup.line("grid", from: (Self.left, y(uSec)), to: (Self.right, y(uSec)))
            text += Markup.label(
                Self.round(uSec), x: Self.left - 8, y: y(uSec) + 4, anchor: "end")
        }
        for launch in shown {
            guard let style = launch.style, let time = launch.duration else { continue }
            let tip =
                "\(launch.app), \(Phrase.dateAndTime(uSec: launch.requestTimestampUSec)): "
                + Phrase.launch(launch.kind, launch.coldReason, anew: launch.anewReason)
                + ", " + Phrase.duration(uSec: time)
            text +=
                "<circle class=\"\(style)\" "
                + "cx=\"\(Markup.number(x(launch.requestTimestampUSec)))\" "
                + "cy=\"\(Markup.number(y(time)))\" r=\"4\">\(Markup.tip(tip))</circle>\n"
        }
        return frame(bottom + Self.axisHeight, "Launches, and how long they took", text)
    }

    private static func round(_ uSec: Int64) -> String {
        switch uSec {
        case ..<1000: "\(uSec) µs"
        case ..<1_000_000: "\(uSec / 1000) ms"
        case _: "\(uSec / 1_000_000) s"
        }
    }

    // MARK: What was warm

    /// A row for each app: a bar while an instance of it was paused, a tick for each launch.
    func warmth(
        _ apps: [String], _ pauses: [Control.PauseRecord], _ launches: [Control.LaunchRecord]
    ) -> String {
        let rowHeight = 24.0
        let bottom = 8 + Double(max(1, apps.count)) * rowHeight
        var text = axis(to: bottom)
        let rows = [String: Int](uniqueKeysWithValues: apps.enumerated().map { ($1, $0) })
        func top(_ row: Int) -> Double { 8 + Double(row) * rowHeight }
        for (row, app) in apps.enumerated() {
            text += Markup.label(
                Self.short(app), x: Self.left - 8, y: top(row) + 15, anchor: "end", style: "name")
        }
        for pause in pauses.suffix(Self.shapeLimit) {
            guard let row = rows[pause.app] else { continue }
            let (from, to) = (x(pause.pausedTimestampUSec), x(pause.untilTimestampUSec))
            let length = max(0, pause.untilTimestampUSec &- pause.pausedTimestampUSec)
            let end = pause.kind.map { ", then " + $0.words } ?? ""
            text += Markup.rectangle(
                "warm", x: from, y: top(row) + 6, width: max(1, to - from), height: 10,
                tip: "\(pause.app): warm for \(Phrase.span(uSec: length))\(end)")
        }
        for launch in launches.suffix(Self.shapeLimit) {
            guard let row = rows[launch.app], let style = launch.style else { continue }
            let place = x(launch.requestTimestampUSec)
            text += Markup.rectangle(
                style, x: place - 1, y: top(row) + 2, width: 2, height: 18)
        }
        return frame(bottom + Self.axisHeight, "What was warm when", text)
    }

    private static func short(_ app: String) -> String {
        guard app.count > nameCells else { return app }
        return "…" + String(app.suffix(nameCells - 1))
    }

    // MARK: Memory

    /// How much memory paused instances held.
    func memory(_ pauses: [Control.PauseRecord]) -> String {
        var changes: [(time: Int64, bytes: Double)] = []
        for pause in pauses where pause.untilTimestampUSec > pause.pausedTimestampUSec {
            changes.append((pause.pausedTimestampUSec, Double(pause.byteCount)))
            changes.append((pause.untilTimestampUSec, -Double(pause.byteCount)))
        }
        changes.sort { $0.time < $1.time }
        var (level, most) = (0.0, 0.0)
        let levels = changes.map { change in
            level += change.bytes
            most = max(most, level)
            return (change.time, max(0, level))
        }
        let (top, bottom) = (8.0, 148.0)
        let limit = Self.niceLimit(most / 1_048_576)
        func y(_ bytes: Double) -> Double { bottom - bytes / 1_048_576 / limit * (bottom - top) }
        var text = axis(to: bottom)
        for share in [0, 0.5, 1] {
            let place = y(limit * share * 1_048_576)
            text += Markup.line("grid", from: (Self.left, place), to: (Self.right, place))
            text += Markup.label(
                Markup.number(limit * share) + " MiB", x: Self.left - 8, y: place + 4,
                anchor: "end")
        }
        var path = "M\(Markup.number(Self.left)) \(Markup.number(bottom))"
        var last = y(0)
        for (time, bytes) in levels {
            path += "L\(Markup.number(x(time))) \(Markup.number(last))"
            last = y(bytes)
            path += "L\(Markup.number(x(time))) \(Markup.number(last))"
        }
        let end = levels.last.map { x($0.0) } ?? Self.left
        path += "L\(Markup.number(end)) \(Markup.number(bottom))Z"
        text += "<path class=\"memory\" d=\"\(path)\"/>\n"
        return frame(bottom + Self.axisHeight, "Memory of what was warm", text)
    }

    /// The next of 1, 2, 5, 10, 20, 50, ... from a number on.
    private static func niceLimit(_ number: Double) -> Double {
        guard number.isFinite, number > 1 else { return 1 }
        let power = pow(10, floor(log10(number)))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= number } ?? 10 * power
    }
}

extension Control.LaunchRecord {
    /// The time until the app was ready or, if that is not known, until its first instruction.
    var duration: Int64? { readyUSec ?? elapsedUSec }

    /// The style of the launch in a picture; nil for a launch that started no process.
    fileprivate var style: String? {
        switch kind.known {
        case .cold: "cold"
        case .prewarmed: "prewarmed"
        case .startedAnew: "anew"
        case .resume, .foreground, nil: nil
        }
    }
}
