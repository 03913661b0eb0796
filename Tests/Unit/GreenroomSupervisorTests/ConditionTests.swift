import Glibc
import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

/// The machine is a folder with the files that the kernel would have.
@Suite struct `The machine's condition` {
    @Test func `holds prewarming back for one reason after another`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let root = try TemporaryDirectory()
                for path in [
                    "/proc", "/sys", "/sys/class", "/sys/class/power_supply",
                    "/sys/class/power_supply/BAT0", "/sys/class/thermal",
                    "/sys/class/thermal/thermal_zone0",
                ] { mkdir(root.path + path, 0o755) }
                @LoopActor func put(_ file: String, _ text: String) throws {
                    try root.write(text, to: file)
                }
                @LoopActor func obstacle() -> (PrewarmObstacle?, [String]) {
                    var configuration = DaemonConfiguration()
                    configuration.prewarmMinimalMemory = 256 << 20
                    // Slow readings are shared for a while, so each look has an inspector.
                    let inspector = ConditionInspector(
                        machine: MachineCondition(root: root.path), configuration)
                    return (inspector.obstacle, inspector.notes.map(\.code))
                }
                let battery = "sys/class/power_supply/BAT0"
                try put("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 100000 kB\n")
                try put("proc/loadavg", "\(sysconf(CInt(_SC_NPROCESSORS_ONLN)) * 9).00 0 0 1/2 3\n")
                try put("\(battery)/type", "Battery\n")
                try put("\(battery)/status", "Discharging\n")
                try put("\(battery)/capacity", "19\n")
                let zone = "sys/class/thermal/thermal_zone0"
                try put("\(zone)/type", "cpu\n")
                try put("\(zone)/temp", "95000\n")
                try put("\(zone)/trip_point_0_type", "passive\n")
                try put("\(zone)/trip_point_0_temp", "90000\n")
                let all = ["low_memory", "high_load", "low_battery", "thermal_stress"]
                #expect(obstacle() == (.lowMemory, all))
                try put("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n")
                #expect(obstacle() == (.highLoad, Array(all[1...])))
                try put("proc/loadavg", "0.50 0 0 1/2 3\n")
                #expect(obstacle() == (.lowBattery, Array(all[2...])))
                try put("\(battery)/status", "Charging\n")
                #expect(obstacle() == (.thermalStress, Array(all[3...])))
                try put("\(zone)/temp", "60000\n")
                #expect(obstacle() == (nil, []))
            }
        }
    }
}
