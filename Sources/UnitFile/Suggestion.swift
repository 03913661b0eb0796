/// `; did you mean X?` if one of the known words is near enough to what was written, else nothing.
public func suggestion(for word: String, among known: [String]) -> String {
    // Nothing long resembles a key. This bounds the work on hostile input.
    guard word.utf8.count <= 64 else { return "" }
    // A third of a word may be wrong; beyond that a guess confuses more than it helps.
    let tolerance = max(1, word.count / 3)
    let written = Array(word.lowercased().utf8)
    var near: (distance: Int, name: String)?
    for name in known where abs(name.utf8.count - written.count) <= tolerance {
        let distance = editDistance(written, Array(name.lowercased().utf8), atMost: tolerance)
        guard let distance else { continue }
        if near.map({ (distance, name) < $0 }) ?? true { near = (distance, name) }
    }
    guard let near else { return "" }
    return "; did you mean \(near.name)?"
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`; nil if there are
/// more than `limit`. Most words are nothing like each other, which shows after a few letters.
func editDistance(_ a: [UInt8], _ b: [UInt8], atMost limit: Int) -> Int? {
    guard abs(a.count - b.count) <= limit else { return nil }
    // What is farther from the diagonal than the limit cannot come back to it: it stays "too many".
    let tooMany = limit + 1
    var beforeLast = [Int](repeating: tooMany, count: b.count + 1)
    var last = (0...b.count).map { min($0, tooMany) }
    var lastLeast = 0
    for i in 0..<a.count {
        var current = [Int](repeating: tooMany, count: b.count + 1)
        current[0] = min(i + 1, tooMany)
        var least = current[0]
        for j in max(0, i - limit)..<max(max(0, i - limit), min(b.count, i + limit + 1)) {
            var best = min(
                last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, current[j] + 1, tooMany)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                best = min(best, beforeLast[j - 1] + 1)
            }
            current[j + 1] = best
            least = min(least, best)
        }
        // A swap reaches over one row, hence two.
        if least == tooMany, lastLeast == tooMany { return nil }
        lastLeast = least
        (beforeLast, last) = (last, current)
    }
    return last[b.count] == tooMany ? nil : last[b.count]
}
