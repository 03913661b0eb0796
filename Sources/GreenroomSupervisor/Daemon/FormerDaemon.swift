internal import Glibc

/// A daemon of the same runtime directory that was told to end, or was killed, and may not have
/// ended yet.
enum FormerDaemon {
    /// Repeats an attempt every 5 ms.
    ///
    /// - Parameters:
    ///   - seconds: how long to go on, at most.
    ///   - attempt: returns nil if the former daemon still has what is needed.
    /// - Returns: the result of the attempt, or nil if all attempts failed.
    static func tryUntilGone<Value, Failure>(
        seconds: Int = 1, _ attempt: () throws(Failure) -> Value?
    ) throws(Failure) -> Value? {
        for _ in 0..<seconds * 200 {
            if let value = try attempt() { return value }
            usleep(5_000)
        }
        return nil
    }
}
