internal import Glibc

/// The condition of the machine: load, batteries and temperatures, read from the kernel's files
/// below `root`. A value that the machine does not have is nil.
public struct MachineCondition: Sendable {
    /// The prefix of `/proc` and `/sys`; empty for this machine.
    public let root: String

    public init(root: String) { self.root = root }

    public var memory: MemoryFacts? {
        text(of: "/proc/meminfo").flatMap(MemoryFacts.init(meminfo:))
    }

    /// The number of tasks that ran or waited to run in the last minute, per online processor
    /// (proc_loadavg(5)), in hundredths.
    public var loadPercent: Int? {
        guard let word = text(of: "/proc/loadavg")?.split(separator: " ").first else { return nil }
        let parts = word.split(separator: ".")
        guard parts.count == 2, parts[1].utf8.count == 2, let whole = Int(parts[0]),
            let hundredths = Int(parts[1])
        else { return nil }
        return (whole * 100 + hundredths) / max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
    }

    /// The charge of the machine's fullest battery while batteries feed the machine
    /// (sysfs-class-power); nil on mains power.
    public var dischargingBatteryPercent: Int? {
        let directory = "/sys/class/power_supply"
        var levels: [Int] = []
        for name in names(in: directory) {
            let path = "\(directory)/\(name)/"
            // A mouse or a keyboard may also have a battery.
            guard word(of: path + "type") == "Battery", word(of: path + "scope") != "Device",
                let capacity = word(of: path + "capacity").flatMap({ Int($0) })
            else { continue }
            guard word(of: path + "status") == "Discharging" else { return nil }
            levels.append(capacity)
        }
        return levels.max()
    }

    /// The first thermal zone that has reached a trip point at which the machine throttles or shuts
    /// down (sysfs-class-thermal), and its temperature in degrees Celsius. Trip points for fans do
    /// not count.
    public var hotZone: (name: String, degrees: Int)? {
        let directory = "/sys/class/thermal"
        for name in names(in: directory) where name.hasPrefix("thermal_zone") {
            let path = "\(directory)/\(name)/"
            guard word(of: path + "mode") != "disabled", let temperature = number(path + "temp"),
                isTripped(path, at: temperature)
            else { continue }
            return (word(of: path + "type") ?? name, temperature / 1000)
        }
        return nil
    }

    /// More trip points than any zone has.
    private static let tripPointLimit = 16

    private func isTripped(_ path: String, at temperature: Int) -> Bool {
        for index in 0..<Self.tripPointLimit {
            guard let kind = word(of: path + "trip_point_\(index)_type") else { return false }
            guard ["passive", "hot", "critical"].contains(kind),
                let trip = number(path + "trip_point_\(index)_temp"), trip > 0
            else { continue }
            if temperature >= trip { return true }
        }
        return false
    }

    public func text(of path: String) -> String? { try? SmallFile.text(of: root + path) }

    private func word(of path: String) -> String? {
        text(of: path)?.split(whereSeparator: \.isWhitespace).first.map(String.init)
    }

    private func number(_ path: String) -> Int? { word(of: path).flatMap { Int($0) } }

    private func names(in path: String) -> [String] {
        ((try? FolderContents.names(in: root + path)) ?? [])
            .filter { !$0.hasPrefix(".") }.sorted()
    }
}
