/// `; did you mean X?` if one of the known words is similar to the given word; otherwise an empty
/// string.
public func suggestion(for word: String, among known: [String]) -> String {
    // No known key is longer than the limit.
    guard let written = ComparedWord(word.utf8.map(lowercase)) else { return "" }
    // At most a third of the word may be wrong; otherwise a suggestion confuses more than it helps.
    let tolerance = max(1, word.count / 3)
    var near: (distance: Int, name: String)?
    for name in known {
        guard abs(name.utf8.count - written.count) <= near?.distance ?? tolerance else { continue }
        let found = (distance: written.distance(to: name.utf8.lazy.map(lowercase)), name: name)
        if found.distance <= tolerance, near.map({ found < $0 }) ?? true { near = found }
    }
    guard let near else { return "" }
    return "; did you mean \(near.name)?"
}

/// Only for ASCII, because the known words are ASCII.
private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

/// A word that others are compared with. The distance is the number of insertions, deletions,
/// replacements and swaps of neighbours that lead from one word to the other.
///
/// A column of the usual table is stored as two numbers. Their bits say where the distance grows
/// and where it shrinks from one row to the next (Hyyrö, "A bit-vector algorithm for computing
/// Levenshtein and Damerau edit distances", 2003). So each letter of the other word costs a dozen
/// operations, however long this word is. This matters because the author of a manifest chooses the
/// words.
struct ComparedWord {
    /// There is one bit for each letter of the word. Longer words are not compared.
    static let byteLimit = UInt64.bitWidth

    let count: Int
    /// For each byte, the places in the word where it occurs.
    private let places: [UInt64]

    init?(_ word: some Collection<UInt8>) {
        guard word.count <= Self.byteLimit else { return nil }
        count = word.count
        var places = [UInt64](repeating: 0, count: 256)
        for (index, byte) in word.enumerated() { places[Int(byte)] |= 1 << UInt64(index) }
        self.places = places
    }

    func distance(to other: some Sequence<UInt8>) -> Int {
        guard count > 0 else { return other.reduce(0) { sum, _ in sum + 1 } }
        let last: UInt64 = 1 << UInt64(count - 1)
        var distance = count
        var (grows, shrinks) = (UInt64.max, UInt64(0))
        // The places where the distance equals that of the row and column before.
        var diagonal: UInt64 = 0
        var before: UInt64 = 0
        for byte in other {
            let here = places[Int(byte)]
            let swaps = ((~diagonal & here) << 1) & before
            diagonal = (((here & grows) &+ grows) ^ grows) | here | shrinks | swaps
            var across = shrinks | ~(diagonal | grows)
            var back = diagonal & grows
            if across & last != 0 { distance += 1 }
            if back & last != 0 { distance -= 1 }
            across = across << 1 | 1
            back = back << 1
            grows = back | ~(diagonal | across)
            shrinks = across & diagonal
            before = here
        }
        return distance
    }
}
