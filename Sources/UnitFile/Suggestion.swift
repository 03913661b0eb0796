/// `; did you mean X?` if one of the known words is near enough to what was written, else nothing.
public func suggestion(for word: String, among known: [String]) -> String {
    // Nothing long resembles a key. This bounds the work on hostile input.
    guard word.utf8.count <= 64 else { return "" }
    // A third of a word may be wrong; beyond that a guess confuses more than it helps.
    let tolerance = max(1, word.count / 3)
    let written = word.utf8.map(lowercase)
    var near: (distance: Int, name: String)?
    for name in known where abs(name.utf8.count - written.count) <= tolerance {
        let distance = editDistance(written, name.utf8.map(lowercase), atMost: tolerance)
        guard let distance else { continue }
        if near.map({ (distance, name) < $0 }) ?? true { near = (distance, name) }
    }
    guard let near else { return "" }
    return "; did you mean \(near.name)?"
}

/// What is known is ASCII.
private func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`; nil if there are
/// more than `limit`. Most words are nothing like each other, which shows after a few letters.
func editDistance(_ a: [UInt8], _ b: [UInt8], atMost limit: Int) -> Int? {
    guard abs(a.count - b.count) <= limit else { return nil }
    // What is farther from the diagonal than the limit cannot come back to it: it stays "too many".
    let tooMany = limit + 1
    // Three rows in turn, in one allocation. Row i begins at (i % 3) * width.
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
        // The neighbours of the band, which the next row reads.
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
        // A swap reaches over one row, hence two.
        if least == tooMany, lastLeast == tooMany { return nil }
        lastLeast = least
    }
    let distance = rows[a.count % 3 * width + b.count]
    return distance == tooMany ? nil : distance
}
