internal import CSystemd

extension Journal {
    /// Opens a stream into the journal for an app's output (sd_journal_stream_fd(3)). Each line
    /// becomes a message, and may begin with `<level>`.
    ///
    /// - Returns: a close-on-exec descriptor, which the caller closes.
    /// - Throws: `ENOENT` or `ECONNREFUSED` if no journal is running.
    public static func stream(
        identifier: String, level: LogLevel = .info
    ) throws(SystemdError) -> CInt {
        try check(
            "sd_journal_stream_fd", unsafe sd_journal_stream_fd(identifier, level.rawValue, 1))
    }
}
