internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The conditions that may hold prewarming back. They are read only when the core asks.
@LoopActor
final class ConditionInspector {
    let machine: MachineCondition
    private var configuration: DaemonConfiguration
    private var battery = SlowReading<Int?>()
    private var heat = SlowReading<(name: String, degrees: Int)?>()

    init(machine: MachineCondition, _ configuration: DaemonConfiguration) {
        self.machine = machine
        self.configuration = configuration
    }

    /// Applies greenroom.conf, which was read again.
    func reconfigure(_ configuration: DaemonConfiguration) { self.configuration = configuration }

    private var minimalMemory: UInt64 { configuration.prewarmMinimalMemory }
    private var maximalLoadPercent: Int { configuration.prewarmMaximalLoadPercent }
    private var minimalBatteryPercent: Int { configuration.prewarmMinimalBattery }
    private var mindsHeat: Bool { configuration.prewarmMindsHeat }

    /// The first condition that holds prewarming back; nil if none does.
    var obstacle: PrewarmObstacle? {
        if isMemoryLow != nil { return .lowMemory }
        if isLoadHigh != nil { return .highLoad }
        if isBatteryLow != nil { return .lowBattery }
        return isHot == nil ? nil : .thermalStress
    }

    /// All conditions that hold prewarming back now, in words.
    var notes: [Control.Note] {
        [
            isMemoryLow.map {
                Control.Note(
                    code: "low_memory",
                    text: "\($0 >> 20) MiB of memory are available; PrewarmMinMemory= asks for "
                        + "\(minimalMemory >> 20)")
            },
            isLoadHigh.map {
                Control.Note(
                    code: "high_load",
                    text: "the load is \(Self.decimal($0)) per processor, above PrewarmMaxLoad="
                        + Self.decimal(maximalLoadPercent))
            },
            isBatteryLow.map {
                Control.Note(
                    code: "low_battery",
                    text: "the machine runs on battery, with \($0) %; PrewarmMinBattery= asks for "
                        + "\(minimalBatteryPercent)")
            },
            isHot.map {
                Control.Note(
                    code: "thermal_stress", text: "\($0.name) is at \($0.degrees) °C and throttled")
            },
        ].compactMap(\.self)
    }

    private var isMemoryLow: UInt64? {
        machine.memory.flatMap { $0.available < minimalMemory ? $0.available : nil }
    }
    private var isLoadHigh: Int? {
        guard maximalLoadPercent > 0 else { return nil }
        return machine.loadPercent.flatMap { $0 > maximalLoadPercent ? $0 : nil }
    }
    private var isBatteryLow: Int? {
        dischargingBatteryPercent.flatMap { $0 < minimalBatteryPercent ? $0 : nil }
    }
    /// Shared by everybody who asks, so that a slow driver is asked once.
    var dischargingBatteryPercent: Int? { battery.value { machine.dischargingBatteryPercent } }
    private var isHot: (name: String, degrees: Int)? {
        mindsHeat ? heat.value { machine.hotZone } : nil
    }

    private static func decimal(_ hundredths: Int) -> String {
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
