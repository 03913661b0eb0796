import Glibc
import GreenroomLifecycle
import GreenroomLinux
import GreenroomSpawner
import Testing

@testable import GreenroomSupervisor

@Suite struct `The priority of an instance` {
    private func settings(
        _ own: PriorityWriter.Own, _ priority: Priority, _ behind: UInt64? = nil
    ) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: PriorityWriter.settings(own, priority, behind).map {
                ($0.file, $0.value)
            })
    }

    @Test func `is full in front, a quarter in the background, and minimal while frozen`() {
        let own = PriorityWriter.Own(weight: 400)
        #expect(
            settings(own, .foreground)
                == ["cpu.weight": "400", "memory.low": "max", "memory.high": "max"])
        #expect(
            settings(own, .background)
                == ["cpu.weight": "100", "memory.low": "0", "memory.high": "max"])
        #expect(settings(own, .suspended) == ["cpu.weight": "1", "memory.low": "0"])
        #expect(settings(own, .prewarmed) == ["cpu.weight": "400", "memory.low": "0"])
    }

    @Test func `never exceeds what the manifest allows`() {
        for priority in [Priority.foreground, .background, .suspended, .prewarmed, .preparing] {
            let own = PriorityWriter.Own(weight: 2, memoryHigh: 50)
            for behind in [nil, 40, 60] as [UInt64?] {
                let settings = settings(own, priority, behind)
                if let weight = settings["cpu.weight"] { #expect(Int(weight)! <= 2) }
                if let high = settings["memory.high"] { #expect(UInt64(high)! <= 50) }
            }
        }
        #expect(
            settings(.init(weight: 100, memoryHigh: 50), .background, 40)["memory.high"] == "40")
    }

    @Test func `is read from the manifest's settings`() {
        #expect(
            PriorityWriter.Own([.init("memory.high", "77"), .init("cpu.weight", "9")])
                == .init(weight: 9, memoryHigh: 77))
        #expect(PriorityWriter.Own([.init("memory.high", "max")]) == .init())
    }

    @Test func `counts an own memory limit only if the limit is not max`() throws {
        var template = Array("/tmp/greenroom-limits-XXXXXX".utf8CString)
        guard template.withUnsafeMutableBufferPointer({ mkdtemp($0.baseAddress!) }) != nil else {
            return
        }
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer {
            for file in ["memory.high", "memory.max"] { unlink(path + "/" + file) }
            rmdir(path)
        }
        let cgroup = try Cgroup(path: path)
        for (high, max, has) in [("max", "max", false), ("4096", "max", true), ("max", "1", true)] {
            try SmallFile.replace(path + "/memory.high", with: high + "\n")
            try SmallFile.replace(path + "/memory.max", with: max + "\n")
            #expect(InstancePressure.hasLimit(cgroup) == has)
        }
    }
}
