internal import GreenroomLifecycle

/// The form of measured times in files of what was learned, in microseconds:
///
///     times BASIS GENERATION
///     work NAME SHALLOW DEEP COUNT      with "-" for a time that was not measured
///     cold NAME TIME
extension DepthTimes {
    var lines: [String] {
        func word(_ time: Duration?) -> String { time.map { "\($0.microseconds)" } ?? "-" }
        return ["times \(basis) \(deepGeneration)"]
            + works.map {
                "work \($0.name) \(word($0.shallow)) \(word($0.deep)) \($0.deepCount)"
            }
            + colds.map { "cold \($0.name) \(word($0.time))" }
    }

    /// The times among the lines; nil if there are none, or none that a daemon can have written.
    init?(_ lines: [Substring]) {
        var times: DepthTimes?
        for line in lines {
            let words = line.split(separator: " ")
            if words.count == 3, words[0] == "times", let basis = UInt64(words[1]),
                let generation = UInt64(words[2])
            {
                times = DepthTimes(basis: basis)
                times!.deepGeneration = generation
            } else if words.count == 5, words[0] == "work" {
                guard let work = Work(words), times?.works.count ?? .max < Self.workLimit else {
                    return nil
                }
                times!.works.append(work)
            } else if words.count == 3, words[0] == "cold" {
                guard let name = UInt64(words[1]), let time = Work.time(words[2]), let time,
                    times?.colds.count ?? .max < Self.workLimit
                else { return nil }
                times!.colds.append(Cold(name: name, time: time))
            }
        }
        guard let times else { return nil }
        self = times
    }
}

extension DepthTimes.Work {
    /// In microseconds; no launch takes longer.
    private static let timeLimit: Int64 = 3_600_000_000

    fileprivate init?(_ words: [Substring]) {
        guard let name = UInt64(words[1]), let count = Int(words[4]),
            0...DepthTimes.deepLimit ~= count
        else { return nil }
        self.init(name: name)
        guard let shallow = Self.time(words[2]), let deep = Self.time(words[3]),
            (count > 0) == (deep != nil)
        else { return nil }
        self.shallow = shallow
        self.deep = deep
        deepCount = count
    }

    /// Nil if the word makes no sense, and a time that is nil if it was not measured.
    fileprivate static func time(_ word: Substring) -> Duration?? {
        if word == "-" { return .some(nil) }
        guard let time = Int64(word), 0...timeLimit ~= time else { return nil }
        return .microseconds(time)
    }
}
