internal import Glibc

/// A display that can show a launch screen and tells when a window appears.
protocol ScreenDisplay: AnyObject {
    /// Readable when something has happened.
    var descriptor: CInt { get }

    /// Something has come that `hear` has left for its next call. The descriptor may not be
    /// readable for it.
    var hasMore: Bool { get }

    /// Reads what has come, at most `messageLimit` messages, and does what it asks for.
    ///
    /// - Returns: whether a window of anybody has appeared since the last call, or the user has
    ///   clicked on the screen: it must go.
    func hear() throws(DisplayFailure) -> Bool

    func show(_ screen: ScreenDescription) throws(DisplayFailure)
    func remove() throws(DisplayFailure)
}

extension ScreenDisplay {
    /// A client that floods the display delays no screen's end.
    static var messageLimit: Int { 256 }
}

/// Says why there is no screen, and that the program goes on.
func sayNothingIsShown(_ reason: String) {
    let line = "greenroom-launchscreen: \(reason), so nothing is shown\n"
    _ = unsafe line.withCString { unsafe write(STDERR_FILENO, $0, strlen($0)) }
}
