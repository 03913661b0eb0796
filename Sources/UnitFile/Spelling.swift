/// Finds the word that the user probably meant.
public enum Spelling {
    /// The candidate that is most similar to `word`; nil if none is similar. It is enough if the
    /// last component of a candidate (`ffmpeg` in `org.ffmpeg.ffmpeg`) is similar.
    public static func closest(to word: String, among candidates: [String]) -> String? {
        let lowercase = Array(word.lowercased().utf8)
        guard let wanted = ComparedWord(lowercase),
            let wantedLast = ComparedWord(lastComponent(lowercase))
        else { return nil }
        // At most a third of the letters of what is compared may be wrong.
        var limit = wanted.count / 3
        var best: String?
        for candidate in candidates {
            let whole = Array(candidate.lowercased().utf8)
            let last = lastComponent(whole)
            for (wanted, other) in [(wanted, whole), (wanted, last), (wantedLast, last)] {
                let allowed = min(limit, wanted.count / 3)
                guard abs(wanted.count - other.count) <= allowed else { continue }
                let distance = wanted.distance(to: other)
                if distance <= allowed, distance < limit || best == nil {
                    (limit, best) = (distance, candidate)
                }
            }
        }
        return best
    }

    private static func lastComponent(_ name: [UInt8]) -> [UInt8] {
        name.split(separator: UInt8(ascii: ".")).last.map(Array.init) ?? name
    }
}
