/// A launch that greenroom-run has begun and hands over to greenroomctl in the same process, because
/// it needs more than greenroom-run can do: a signal has come, or the daemon has refused the launch
/// or is away. The call can be repeated under the same identifier, so nothing is launched twice.
struct BegunLaunch: Equatable {
    static let option = "--begun"

    var launchIdentifier: String
    /// The signals that the process's caller has blocked. Those that are to be forwarded are blocked
    /// as well by now, and may be pending.
    var blockedSignals: UInt64
    /// What the daemon has launched; nil if it has not answered yet.
    var instance: UInt64?
    var process: Int32?

    init(launchIdentifier: String, blockedSignals: UInt64) {
        self.launchIdentifier = launchIdentifier
        self.blockedSignals = blockedSignals
    }

    /// Reads the text of ``word``.
    init?(_ word: String) {
        let parts = word.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
            .map { String($0) }
        guard parts.count >= 2, !parts[0].isEmpty, let blocked = UInt64(parts[1], radix: 16) else {
            return nil
        }
        self.init(launchIdentifier: parts[0], blockedSignals: blocked)
        if parts.count > 2 {
            guard let number = UInt64(parts[2]) else { return nil }
            instance = number
        }
        if parts.count > 3 {
            guard let number = Int32(parts[3]) else { return nil }
            process = number
        }
    }

    var word: String {
        var word = launchIdentifier + ":" + String(blockedSignals, radix: 16)
        if let instance {
            word += ":" + String(instance)
            if let process { word += ":" + String(process) }
        }
        return word
    }
}
