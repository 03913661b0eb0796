/// Finds the word that the user probably meant.
public enum Spelling {
    /// Longer words are not compared, because the time grows with the product of the lengths.
    static let byteLimit = 128

    /// The candidate that is most similar to `word`, or nil if none is similar. A candidate also
    /// counts if only its last component (`ffmpeg` of `org.ffmpeg.ffmpeg`) is similar.
    public static func closest(to word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= byteLimit else { return nil }
        let wanted = Array(word.lowercased().utf8)
        var best: (distance: Int, candidate: String)?
        for candidate in candidates where candidate.utf8.count <= byteLimit {
            let whole = Array(candidate.lowercased().utf8)
            let last = whole.split(separator: UInt8(ascii: ".")).last.map(Array.init) ?? whole
            let wantedLast = wanted.split(separator: UInt8(ascii: ".")).last.map(Array.init)
            let distance = min(
                self.distance(wanted, whole), self.distance(wanted, last),
                self.distance(wantedLast ?? wanted, last))
            if distance < best?.distance ?? .max { best = (distance, candidate) }
        }
        // At most a third of the letters may be wrong.
        guard let best, best.distance <= max(1, wanted.count / 3) else { return nil }
        return best.candidate
    }

    /// How many insertions, removals and replacements lead from one word to the other
    /// (Levenshtein).
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
