/// The process or the app that has the foreground of a display.
enum Front: Hashable, Sendable {
    /// The process whose window has the focus.
    case process(Int32)
    /// The identifier that a Wayland client has given its window (`xdg_toplevel.set_app_id`).
    case app(String)
}

/// A display server that can be asked which window has the focus.
protocol Display: AnyObject {
    /// Readable when the focus may have changed.
    var descriptor: CInt { get }

    /// Whether `front` has left something for its next call. The descriptor need not be readable
    /// then.
    var hasMore: Bool { get }

    /// When `front` must be called next, whatever comes (CLOCK_MONOTONIC); nil if no time is planned.
    var lookAt: UInt64? { get }

    /// Reads what has come, at most `DisplayStream.messageLimit` messages, and returns what has the
    /// foreground now; nil if no window has it.
    func front() throws(DisplayFailure) -> Front?
}

extension Display {
    var lookAt: UInt64? { nil }
}
