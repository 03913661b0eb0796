import Testing

@testable import UnitFile

/// A generator whose seed is printed, so that a run can be repeated (SplitMix64).
struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

@Suite struct RandomTests {
    /// Pieces of text that lead the parser into each of its states, and unexpected bytes.
    static let pieces: [[UInt8]] =
        [
            "[", "]", "[App]", "=", "K=", "\\", "\\\n", "\n", "\r\n", "#", ";", " ", "\t", "\"",
            "'", "\\x4",
            "\\u00e9", "é", "1.5", "9999999999999999999", "G", "min", "infinity", ":", "-", "+",
            "SIG",
            "RTMIN+", "𝄞", "\u{301}",
        ].map { Array($0.utf8) } + [[0], [0xff], [0xc3], [0xe2, 0x82], [0x80], [0x7f]]

    @Test func `no bytes crash the parsers, and every reported place is in the file`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = Seeded(state: seed)
        for _ in 0..<4000 {
            var bytes: [UInt8] = Array(["[A]\nK=", ""].randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 0..<30, using: &random) {
                bytes += Self.pieces.randomElement(using: &random)!
            }
            let lines = bytes.count { $0 == 10 } + 1
            let (unit, diagnostics) = UnitFile.parse(bytes, file: "x")
            for diagnostic in diagnostics {
                #expect(
                    (1...lines).contains(diagnostic.position.line)
                        && (1...bytes.count + 1).contains(diagnostic.position.column),
                    "seed \(seed): \(bytes): \(diagnostic)")
            }
            for assignment in unit.sections.flatMap(\.assignments) {
                readEveryWay(assignment.value)
                for offset in 0...assignment.value.text.utf8.count {
                    let position = assignment.value.position(at: offset)
                    #expect((1...lines).contains(position.line), "seed \(seed): \(bytes)")
                }
            }
        }
    }

    func readEveryWay(_ value: Value) {
        _ = try? value.words()
        _ = try? value.boolean()
        _ = try? value.duration()
        _ = try? value.bytes()
        _ = try? value.integer(Int.min...Int.max)
        _ = try? value.octalMode()
        _ = try? value.signal()
        for resource in LimitSetting.Resource.allCases { _ = try? value.limitSetting(resource) }
        _ = suggestion(for: value.text, among: ["Exec", "Name"])
    }

    @Test(arguments: [
        ("", "", 0), ("Exec", "Exec", 0), ("Exce", "Exec", 1), ("Nme", "Name", 1), ("a", "", 1),
        ("kitten", "sitting", 3),
    ])
    func `the edit distance counts swaps as one`(a: String, b: String, distance: Int) {
        #expect(ComparedWord(a.utf8)?.distance(to: b.utf8) == distance)
        #expect(ComparedWord(b.utf8)?.distance(to: a.utf8) == distance)
    }

    @Test func `words of up to 64 bytes are compared`() {
        let word = [UInt8](repeating: 97, count: 64)
        #expect(ComparedWord(word)?.distance(to: word.dropLast() + [98, 97]) == 1)
        #expect(ComparedWord(word)?.distance(to: []) == 64)
        #expect(ComparedWord(word + [97]) == nil)
    }

    /// The distance by its definition: it tries each operation.
    private func plainDistance(_ a: ArraySlice<UInt8>, _ b: ArraySlice<UInt8>) -> Int {
        guard let x = a.last, let y = b.last else { return a.count + b.count }
        let (c, d) = (a.dropLast(), b.dropLast())
        var best = min(
            plainDistance(c, d) + (x == y ? 0 : 1), plainDistance(c, b) + 1,
            plainDistance(a, d) + 1)
        if c.last == y, d.last == x {
            best = min(best, plainDistance(c.dropLast(), d.dropLast()) + 1)
        }
        return best
    }

    @Test func `the edit distance is that of the definition`() throws {
        // Every word of up to four of these letters.
        var words: [[UInt8]] = [[]]
        for length in 0..<4 {
            for word in words where word.count == length {
                words += "abc".utf8.map { word + [$0] }
            }
        }
        for a in words {
            for b in words {
                let distance = try #require(ComparedWord(a)).distance(to: b)
                if distance != plainDistance(a[...], b[...]) {
                    Issue.record("\(a), \(b): \(distance)")
                }
            }
        }
    }
}
