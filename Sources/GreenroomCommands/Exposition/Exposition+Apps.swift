import GreenroomControl

extension Exposition {
    /// What was counted for apps since their first counts, and the instances that exist now.
    init(
        _ format: ExpositionFormat, _ apps: [Control.MetricsReply],
        _ instances: [Control.InstanceStatus]
    ) {
        self.init(format)
        let apps = apps.sorted { $0.app < $1.app }
        launches(of: apps)
        hangs(of: apps)
        exits(of: apps)
        savings(of: apps)
        times(of: apps)
        memory(of: apps)
        states(of: instances)
    }

    /// The upper bounds of the histograms, in milliseconds: only some of the daemon's, because each
    /// bound is a time series of its own.
    private static let bounds: [Int64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000,
    ]

    /// A bucket that lies across a bound counts at the next one.
    private static func counts(
        _ buckets: [Control.HistogramBucket]
    ) -> [(bound: String, count: UInt64)] {
        var counts = [UInt64](repeating: 0, count: bounds.count + 1)
        for bucket in buckets {
            let place = bucket.toUSec.flatMap { end in bounds.firstIndex { end <= $0 * 1000 } }
            counts[place ?? bounds.count] &+= bucket.count
        }
        return zip(bounds.map { seconds(milliseconds: $0) } + ["+Inf"], counts).map { ($0, $1) }
    }

    private static func seconds(milliseconds: Int64) -> String {
        "\(Double(milliseconds) / 1000)"
    }

    private static func seconds(uSec: Int64) -> String { "\(Double(uSec) / 1_000_000)" }

    private mutating func launches(of apps: [Control.MetricsReply]) {
        begin(
            "greenroom_launch_duration_seconds", .histogram, unit: "seconds",
            "Time from the user's request to the first draw, or to the front.")
        for app in apps {
            for launch in app.total.launches {
                add(
                    [("app", app.app), ("kind", launch.metric.rawValue)],
                    Self.counts(launch.buckets))
            }
        }
    }

    private mutating func hangs(of apps: [Control.MetricsReply]) {
        begin(
            "greenroom_hang_duration_seconds", .histogram, unit: "seconds",
            "Time for which the main thread of an app did not answer.")
        for app in apps where !app.total.hangs.isEmpty {
            add([("app", app.app)], Self.counts(app.total.hangs))
        }
    }

    private mutating func exits(of apps: [Control.MetricsReply]) {
        begin("greenroom_exits", .counter, "Ends of instances, by reason.")
        for app in apps {
            for exit in app.total.exits {
                for (place, count) in [
                    ("foreground", exit.foreground), ("background", exit.background),
                ] {
                    let reason = exit.exit.rawValue
                    add([("app", app.app), ("reason", reason), ("place", place)], "\(count)")
                }
            }
        }
    }

    private mutating func savings(of apps: [Control.MetricsReply]) {
        begin(
            "greenroom_saved_seconds", .counter, unit: "seconds",
            "Time that launches from the pool saved, because preparing was done before.")
        for app in apps {
            for saving in app.total.savings {
                add(
                    [("app", app.app), ("depth", saving.depth.rawValue)],
                    Self.seconds(uSec: saving.savedUSec))
            }
        }
        begin("greenroom_pool_launches", .counter, "Launches from the pool, by depth.")
        for app in apps {
            for saving in app.total.savings {
                add(
                    [("app", app.app), ("depth", saving.depth.rawValue)], "\(saving.launchCount)")
            }
        }
    }

    private mutating func times(of apps: [Control.MetricsReply]) {
        begin(
            "greenroom_run_seconds", .counter, unit: "seconds",
            "Time that apps ran, without the time in which they were suspended.")
        for app in apps {
            for (place, time) in [
                ("foreground", app.total.foregroundUSec), ("background", app.total.backgroundUSec),
            ] {
                add([("app", app.app), ("place", place)], Self.seconds(uSec: time))
            }
        }
    }

    private mutating func memory(of apps: [Control.MetricsReply]) {
        begin(
            "greenroom_peak_memory_bytes", .gauge, unit: "bytes",
            "The most memory that an instance was seen to have.")
        for app in apps {
            if let peak = app.total.peakByteCount { add([("app", app.app)], "\(peak)") }
        }
        begin(
            "greenroom_suspended_memory_bytes", .gauge, unit: "bytes",
            "Memory of suspended instances, on average.")
        for app in apps {
            if let average = app.total.averageSuspendedByteCount {
                add([("app", app.app)], "\(average)")
            }
        }
    }

    private mutating func states(of instances: [Control.InstanceStatus]) {
        begin("greenroom_instances", .gauge, "Instances that have a process, by state.")
        var counts: [String: [String: Int]] = [:]
        for instance in instances {
            counts[instance.app, default: [:]][instance.state.rawValue, default: 0] += 1
        }
        for (app, states) in counts.sorted(by: { $0.key < $1.key }) {
            for (state, count) in states.sorted(by: { $0.key < $1.key }) {
                add([("app", app), ("state", state)], "\(count)")
            }
        }
    }
}
