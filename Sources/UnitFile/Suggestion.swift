/// `; did you mean X?` if one of the known words is similar to the given word, else an empty
/// string.
public func suggestion(for word: String, among known: [String]) -> String {
    // No key is this long. The limit bounds the work on hostile input.
    guard word.utf8.count <= 64 else { return "" }
    // At most a third of the word may be wrong; otherwise a suggestion confuses more than it helps.
    let tolerance = max(1, word.count / 3)
    let written = word.utf8.map(lowercase)
    var near: (distance: Int, name: String)?
    for name in known {
        // Farther than the nearest so far is of no use.
        let limit = near?.distance ?? tolerance
        guard abs(name.utf8.count - written.count) <= limit,
            let distance = editDistance(written, name.utf8.map(lowercase), atMost: limit)
        else { continue }
        if near.map({ (distance, name) < $0 }) ?? true { near = (distance, name) }
    }
    guard let near else { return "" }
    return "; did you mean \(near.name)?"
}

/// The known words are ASCII.
private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

/// How many insertions, deletions, replacements and swaps of neighbours lead from `a` to `b`; nil
/// if they are more than `limit`. Most words are not similar, which shows after a few letters.
func editDistance(_ a: [UInt8], _ b: [UInt8], atMost limit: Int) -> Int? {
    guard abs(a.count - b.count) <= limit else { return nil }
    // An edit brings in at most one letter that the word did not have, and takes away at most one.
    // Most words differ in more, and this is a tenth of the work below.
    let (ofA, ofB) = (letters(a), letters(b))
    guard (ofA & ~ofB).nonzeroBitCount <= limit, (ofB & ~ofA).nonzeroBitCount <= limit else {
        return nil
    }
    // A cell farther from the diagonal than the limit cannot be part of a solution and stays "too
    // many".
    let tooMany = limit + 1
    // Three rows, used in turn, in one allocation. Row i begins at (i % 3) * width.
    let width = b.count + 1
    var rows = [Int](repeating: tooMany, count: 3 * width)
    for j in 0..<min(width, tooMany) { rows[j] = j }
    var lastLeast = 0
    for i in 0..<a.count {
        let (beforeLast, last, current) = (
            (i + 2) % 3 * width, i % 3 * width, (i + 1) % 3 * width
        )
        rows[current] = min(i + 1, tooMany)
        var least = rows[current]
        let first = max(0, i - limit)
        let end = min(b.count, i + limit + 1)
        // The cells next to the band, which the next row reads.
        if first > 0 { rows[current + first] = tooMany }
        if end < b.count { rows[current + end + 1] = tooMany }
        for j in first..<max(first, end) {
            var best = min(
                rows[last + j] + (a[i] == b[j] ? 0 : 1), rows[last + j + 1] + 1,
                rows[current + j] + 1, tooMany)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                best = min(best, rows[beforeLast + j - 1] + 1)
            }
            rows[current + j + 1] = best
            least = min(least, best)
        }
        // A swap uses the row before the last one, hence two rows are checked.
        if least == tooMany, lastLeast == tooMany { return nil }
        lastLeast = least
    }
    let distance = rows[a.count % 3 * width + b.count]
    return distance == tooMany ? nil : distance
}

/// A bit for each byte that the word has; some share one.
private func letters(_ word: [UInt8]) -> UInt64 {
    var bits: UInt64 = 0
    for byte in word { bits |= 1 << UInt64(byte & 63) }
    return bits
}
