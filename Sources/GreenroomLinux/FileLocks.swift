public import Glibc

/// The file locks of the machine (proc_locks(5)).
public enum FileLocks {
    /// Who holds a lock of flock(2) or fcntl(2). Locks of an open file description name nobody, and
    /// processes of another pid namespace are not seen: such locks are passed over.
    public static func holders() throws(SystemError) -> Set<pid_t> {
        holders(in: try SmallFile.text(of: "/proc/locks"))
    }

    /// `1: FLOCK  ADVISORY  WRITE 1234 08:02:567 0 EOF`; one that waits has `->` behind the number.
    static func holders(in text: String) -> Set<pid_t> {
        var holders: Set<pid_t> = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count > 4, fields[1] == "FLOCK" || fields[1] == "POSIX",
                let pid = pid_t(fields[4]), pid > 0
            else { continue }
            holders.insert(pid)
        }
        return holders
    }
}
