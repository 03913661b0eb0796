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

    /// Reads what has come, and returns what has the foreground now; nil if no window has it.
    func front() throws(DisplayFailure) -> Front?
}
