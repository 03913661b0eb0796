/// Finds the word that the user probably meant.
public enum Spelling {
    /// Longer words are not compared, because the time grows with the product of the lengths.
    static let byteLimit = 128

    /// The candidate that is most similar to `word`, or nil if none is similar. A candidate also
    /// counts if only its last component (`ffmpeg` of `org.ffmpeg.ffmpeg`) is similar.
    public static func closest(to word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= byteLimit else { return nil }
        let wanted = Array(word.lowercased().utf8)
        let wantedLast = lastComponent(wanted)
        // At most a third of the letters may be wrong.
        let tolerance = max(1, wanted.count / 3)
        var best: (distance: Int, candidate: String)?
        for candidate in candidates where candidate.utf8.count <= byteLimit {
            let whole = Array(candidate.lowercased().utf8)
            let last = lastComponent(whole)
            // Farther than the nearest so far is of no use.
            let limit = best?.distance ?? tolerance
            let distances = [(wanted, whole), (wanted, last), (wantedLast, last)].compactMap {
                editDistance($0, $1, atMost: limit)
            }
            guard let distance = distances.min(), distance < best?.distance ?? .max else {
                continue
            }
            best = (distance, candidate)
        }
        return best?.candidate
    }

    private static func lastComponent(_ name: [UInt8]) -> [UInt8] {
        name.split(separator: UInt8(ascii: ".")).last.map(Array.init) ?? name
    }
}
