import GreenroomLinux
import Testing

@Suite struct `A slow reading` {
    @Test func `is reused for a hundred times its duration after it was slow twice`() {
        var reading = SlowReading<Int>()
        var time: UInt64 = 0
        var count = 0
        func read(taking duration: UInt64) -> Int {
            reading.value(at: { time }) {
                time += duration
                count += 1
                return count
            }
        }
        #expect(read(taking: 9_999_999) == 1)
        #expect(read(taking: 20_000_000) == 2)
        #expect(read(taking: 0) == 3, "held up once")
        #expect(read(taking: 20_000_000) == 4)
        #expect(read(taking: 20_000_000) == 5)
        time += 1_999_999_999
        #expect(read(taking: 20_000_000) == 5)
        time += 1
        #expect(read(taking: 9_000_000_000) == 6)
        time += SlowReading<Int>.longestBelief
        #expect(read(taking: 0) == 7)
        #expect(read(taking: 0) == 8)
    }
}
