/// A display that can show a launch screen and tells when a window appears.
protocol ScreenDisplay: AnyObject {
    /// Readable when something has happened.
    var descriptor: CInt { get }

    /// Reads what has come, and does what it asks for.
    ///
    /// - Returns: whether a window of anybody has appeared since the last call.
    func hear() throws(DisplayFailure) -> Bool

    func show(_ screen: ScreenDescription) throws(DisplayFailure)
    func remove() throws(DisplayFailure)
}
