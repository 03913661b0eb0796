/// `; did you mean X?` if one of the known words is near enough to what was written, else nothing.
public func suggestion(for word: String, among known: [String]) -> String {
    // A third of a word may be wrong; beyond that a guess confuses more than it helps.
    let tolerance = max(1, word.count / 3)
    let near = known.map { (name: $0, distance: editDistance(word.lowercased(), $0.lowercased())) }
        .filter { $0.distance <= tolerance }
        .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
    guard let near else { return "" }
    return "; did you mean \(near.name)?"
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
func editDistance(_ a: String, _ b: String) -> Int {
    // Nothing long resembles a key: this bounds the work on hostile input.
    let (a, b) = (Array(a.unicodeScalars.prefix(64)), Array(b.unicodeScalars.prefix(64)))
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in 0..<a.count {
        var current = [i + 1]
        for j in 0..<b.count {
            var best = min(
                last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, current[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                best = min(best, beforeLast[j - 1] + 1)
            }
            current.append(best)
        }
        (beforeLast, last) = (last, current)
    }
    return last[b.count]
}
