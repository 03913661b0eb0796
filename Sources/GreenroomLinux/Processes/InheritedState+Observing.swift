internal import CGreenroomLinux

extension InheritedState {
    /// The limits, CPUs and priorities of another process; nil if they cannot be read.
    public init?(observing process: Int32) {
        var state = gr_inherited()
        guard unsafe gr_observe_scheduling(process, &state) == 0,
            let text = try? SmallFile.text(of: "/proc/\(process)/limits"),
            let limits = Self.limits(text)
        else { return nil }
        self.init(state)
        self.limits = limits
    }

    /// Reads `/proc/PID/limits` (proc_pid_limits(5)). Everybody may read it, but prlimit(2) needs
    /// CAP_SYS_RESOURCE for another user's process, and containers do not have that.
    static func limits(_ text: String) -> [Limit]? {
        let limits = text.split(separator: "\n").dropFirst().compactMap { line in
            // The name is 25 bytes long, with blanks in it.
            let words = line.dropFirst(25).split(separator: " ")
            guard words.count >= 2, let soft = value(words[0]), let hard = value(words[1]) else {
                return nil as Limit?
            }
            return Limit(soft: soft, hard: hard)
        }
        return limits.count == limitCount ? limits : nil
    }

    private static func value(_ word: Substring) -> UInt64? {
        word == "unlimited" ? .max : UInt64(word)
    }
}
