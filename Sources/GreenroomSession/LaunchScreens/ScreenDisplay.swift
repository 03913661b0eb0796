internal import Glibc

/// A display that can show a launch screen and tells when a window appears.
protocol ScreenDisplay: AnyObject {
    /// Readable when something has happened.
    var descriptor: CInt { get }

    /// Whether `hear` has left something for its next call. The descriptor need not be readable
    /// then.
    var hasMore: Bool { get }

    /// When `hear` must be called next, whatever comes (CLOCK_MONOTONIC); nil if no time is planned.
    var lookAt: UInt64? { get }

    /// Reads and handles the messages that have come, at most
    /// `DisplayStream.messageLimit` of them.
    ///
    /// - Returns: whether the screen must go, because any new window has appeared since the last
    ///   call or the user has clicked on the screen.
    func hear() throws(DisplayFailure) -> Bool

    func show(_ screen: ScreenDescription) throws(DisplayFailure)
    func remove() throws(DisplayFailure)
}

extension ScreenDisplay {
    var lookAt: UInt64? { nil }
}

/// Says why there is no screen. The program goes on.
func sayNothingIsShown(_ reason: String) {
    let line = "greenroom-launchscreen: \(reason), so nothing is shown\n"
    _ = unsafe line.withCString { unsafe write(STDERR_FILENO, $0, strlen($0)) }
}
