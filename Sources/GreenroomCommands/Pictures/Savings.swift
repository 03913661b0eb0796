import GreenroomControl
import Varlink

/// What prewarming has saved and cost, from the launches and the paused instances of the history.
///
/// A launch from the pool saves the time that preparing its instance took, because a cold launch
/// would have taken it. Each paused instance costs the processor time of its preparation, and its
/// memory while it waits; it is wasted if it ends without a launch, or if the launch was started
/// anew.
struct Savings: Equatable {
    struct Account: Equatable, ParametersEncodable {
        /// Nil for the sum of all apps.
        var app: String?
        /// Launches that started a process.
        var launchCount = 0
        /// Launches from the pool.
        var hitCount = 0
        var savedUSec: Int64 = 0
        /// The number of all paused instances, whether they were of use or not.
        var pausedCount = 0
        var processorUSec: Int64 = 0
        var wastedCount = 0
        var wastedProcessorUSec: Int64 = 0
        /// The unit is a mebibyte that was held for an hour.
        var mebibyteHours = 0.0
        /// What launches from the pool have saved, by depth.
        var depths: [String: Depth] = [:]

        struct Depth: Equatable {
            var hitCount = 0
            var savedUSec: Int64 = 0
        }

        var hitShare: Double {
            launchCount > 0 ? Double(hitCount) / Double(launchCount) : 0
        }

        func encodeMembers(to writer: inout JSONWriter) {
            if let app { writer.member("app", app) }
            writer.member("launchCount", launchCount)
            writer.member("hitCount", hitCount)
            writer.member("savedUSec", savedUSec)
            writer.member("pausedCount", pausedCount)
            writer.member("processorUSec", processorUSec)
            writer.member("wastedCount", wastedCount)
            writer.member("wastedProcessorUSec", wastedProcessorUSec)
            writer.name("mebibyteHours")
            writer.value(mebibyteHours)
            writer.name("depths")
            writer.beginArray()
            for (name, depth) in depths.sorted(by: { $0.key < $1.key }) {
                writer.beginObject()
                writer.member("depth", name)
                writer.member("hitCount", depth.hitCount)
                writer.member("savedUSec", depth.savedUSec)
                writer.endObject()
            }
            writer.endArray()
        }

        // A daemon may send numbers that are too large to add.
        fileprivate mutating func add(_ pause: Control.PauseRecord) {
            pausedCount += 1
            processorUSec &+= pause.processorUSec ?? 0
            let time = max(0, pause.untilTimestampUSec &- pause.pausedTimestampUSec)
            mebibyteHours += Double(pause.byteCount) / 1_048_576 * Double(time) / 3_600_000_000
            if pause.kind == .known(.prewarmed) {
                savedUSec &+= pause.preparationUSec ?? 0
                if let depth = pause.depth {
                    depths[depth.rawValue, default: .init()].hitCount += 1
                    depths[depth.rawValue, default: .init()].savedUSec &+=
                        pause.preparationUSec ?? 0
                }
            } else {
                wastedCount += 1
                wastedProcessorUSec &+= pause.processorUSec ?? 0
            }
        }

        fileprivate mutating func add(_ launch: Control.LaunchRecord) {
            switch launch.kind.known {
            case .cold, .startedAnew: launchCount += 1
            case .prewarmed:
                launchCount += 1
                hitCount += 1
            case .resume, .foreground, nil: break
            }
        }
    }

    /// The account of each app, the one with the greatest saving first.
    let accounts: [Account]
    let sum: Account

    init(_ launches: [Control.LaunchRecord], _ pauses: [Control.PauseRecord]) {
        var accounts: [String: Account] = [:]
        var sum = Account()
        for pause in pauses {
            accounts[pause.app, default: Account(app: pause.app)].add(pause)
            sum.add(pause)
        }
        for launch in launches {
            accounts[launch.app, default: Account(app: launch.app)].add(launch)
            sum.add(launch)
        }
        self.sum = sum
        self.accounts = accounts.values
            .filter { $0.launchCount > 0 || $0.pausedCount > 0 }
            .sorted {
                $0.savedUSec != $1.savedUSec
                    ? $0.savedUSec > $1.savedUSec : ($0.app ?? "") < ($1.app ?? "")
            }
    }
}

extension Report {
    static func savings(_ savings: Savings, _ appearance: Appearance = .plain) -> String {
        guard !savings.accounts.isEmpty else { return "No launches.\n" }
        var table = Table(
            "APP", "LAUNCHES", "PREWARMED", "SAVED", "PAUSED", "UNUSED", "PROCESSOR", "MEMORY")
        for account in savings.accounts + [savings.sum] {
            table.add(
                [
                    account.app ?? "all", String(account.launchCount),
                    "\(account.hitCount) (\(Phrase.percent(account.hitShare)))",
                    Phrase.span(uSec: account.savedUSec), String(account.pausedCount),
                    String(account.wastedCount), Phrase.span(uSec: account.processorUSec),
                    Phrase.decimal(account.mebibyteHours, places: 1) + " MiB h",
                ], styles: account.app == nil ? [0: .heading] : [:])
        }
        return table.text(appearance) + depths(savings.sum, appearance)
    }

    private static func depths(_ sum: Savings.Account, _ appearance: Appearance) -> String {
        guard !sum.depths.isEmpty else { return "" }
        var table = Table("DEPTH", "PREWARMED", "SAVED")
        for (name, depth) in sum.depths.sorted(by: {
            ($1.value.savedUSec, $0.key) < ($0.value.savedUSec, $1.key)
        }) {
            table.add(
                [name, String(depth.hitCount), Phrase.span(uSec: depth.savedUSec)], styles: [:])
        }
        return "\n" + table.text(appearance)
    }
}
