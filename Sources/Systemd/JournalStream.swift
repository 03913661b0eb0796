internal import CSystemd

extension Journal {
    /// A stream into the journal for an app's output (sd_journal_stream_fd(3)): each line becomes a
    /// message; lines may begin with `<level>`.
    ///
    /// - Returns: a close-on-exec descriptor, the caller's to close.
    /// - Throws: `ENOENT` or `ECONNREFUSED` where no journal runs.
    public static func stream(
        identifier: String, level: LogLevel = .info
    ) throws(SystemdError) -> CInt {
        try check(
            "sd_journal_stream_fd", unsafe sd_journal_stream_fd(identifier, level.rawValue, 1))
    }
}
