import GreenroomPrediction

/// Monday, 2026-01-05 00:00.
let monday: Int64 = 1_767_571_200

func moment(day: Int = 0, hour: Int = 9, minute: Int = 0, second: Int = 0) -> LocalTime {
    LocalTime(seconds: monday + Int64(day * 86400 + hour * 3600 + minute * 60 + second))
}

extension Predictor {
    func rank(_ app: String, at time: LocalTime) -> Rank {
        ranking(at: time).first { $0.app == app }!
    }

    func first(at time: LocalTime) -> String? { ranking(at: time).first?.app }
}

/// SplitMix64, with the same numbers everywhere.
struct Dice {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
