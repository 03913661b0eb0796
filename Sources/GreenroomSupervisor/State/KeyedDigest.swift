/// A 64-bit digest that tells texts apart, even if whoever chooses the texts wants two of them to
/// look alike: SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF") with a
/// secret.
///
/// `Hasher` has another secret in each process. This secret lies beside the records that contain
/// digests, so that the next supervisor finds paused instances by the same digests.
struct KeyedDigest: Equatable, Sendable {
    let secret: (UInt64, UInt64)

    static func == (one: Self, other: Self) -> Bool { one.secret == other.secret }

    /// The digest covers the texts and their ends: 0xff is not a byte of UTF-8.
    func digest(of texts: some Sequence<String>) -> UInt64 {
        var state = State(secret)
        for text in texts {
            for byte in text.utf8 { state.absorb(byte) }
            state.absorb(0xff)
        }
        return state.finished()
    }

    /// The state of SipHash, with the names of the paper.
    struct State {
        private var v0: UInt64
        private var v1: UInt64
        private var v2: UInt64
        private var v3: UInt64
        /// Bytes that do not make up a word yet.
        private var word: UInt64 = 0
        private var byteCount: UInt64 = 0

        init(_ secret: (UInt64, UInt64)) {
            v0 = secret.0 ^ 0x736f_6d65_7073_6575
            v1 = secret.1 ^ 0x646f_7261_6e64_6f6d
            v2 = secret.0 ^ 0x6c79_6765_6e65_7261
            v3 = secret.1 ^ 0x7465_6462_7974_6573
        }

        mutating func absorb(_ byte: UInt8) {
            word |= UInt64(byte) << (8 * (byteCount & 7))
            byteCount &+= 1
            guard byteCount & 7 == 0 else { return }
            compress()
            word = 0
        }

        private mutating func compress() {
            v3 ^= word
            for _ in 0..<2 { mix() }
            v0 ^= word
        }

        private mutating func mix() {
            v0 &+= v1
            v1 = Self.rotated(v1, 13) ^ v0
            v0 = Self.rotated(v0, 32)
            v2 &+= v3
            v3 = Self.rotated(v3, 16) ^ v2
            v0 &+= v3
            v3 = Self.rotated(v3, 21) ^ v0
            v2 &+= v1
            v1 = Self.rotated(v1, 17) ^ v2
            v2 = Self.rotated(v2, 32)
        }

        private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 {
            value << count | value >> (64 - count)
        }

        consuming func finished() -> UInt64 {
            var state = self
            state.word |= state.byteCount << 56
            state.compress()
            state.v2 ^= 0xff
            for _ in 0..<4 { state.mix() }
            return state.v0 ^ state.v1 ^ state.v2 ^ state.v3
        }
    }
}
