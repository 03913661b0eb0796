internal import Glibc

/// A Wayland compositor that tells other clients about its windows
/// (`zwlr_foreign_toplevel_manager_v1`, wlr-protocols: sway, labwc, Wayfire, Hyprland, phoc).
/// `ext_foreign_toplevel_list_v1` lists windows too, but does not say which one is active.
///
/// The compositor names an app, not a process.
final class WaylandDisplay: Display {
    static let manager = "zwlr_foreign_toplevel_manager_v1"

    /// A window. What the compositor says about it takes effect at the `done` that follows.
    private struct Window {
        var app = ""
        var isActive = false
        var next: (app: String, isActive: Bool) = ("", false)
    }
    /// The value of `activated` in the array of a `state` event.
    private static let activated: UInt32 = 2

    private let connection: WaylandConnection
    private let manager: UInt32
    private var windows: [UInt32: Window] = [:]
    /// The active windows, of which each seat has one, the latest last.
    private var active: [UInt32] = []
    private var isFinished = false
    private(set) var hasMore = false

    var descriptor: CInt { connection.descriptor }

    init(path: String) throws(DisplayFailure) {
        connection = try WaylandConnection(path: path)
        manager = try connection.bind(Self.manager)
        try connection.synchronize()
    }

    func front() throws(DisplayFailure) -> Front? {
        hasMore = true
        for _ in 0..<DisplayStream.messageLimit {
            guard let message = try connection.next() else {
                hasMore = false
                break
            }
            try hear(message)
        }
        if isFinished { throw .ended }
        return active.last.flatMap { windows[$0] }.map { .app($0.app) }
    }

    // MARK: Messages

    private func hear(_ message: WaylandConnection.Message) throws(DisplayFailure) {
        switch (message.object, message.opcode) {
        // toplevel, finished
        case (manager, 0): windows[message.arguments.word(at: 0)] = Window()
        case (manager, 1): isFinished = true
        case (WaylandConnection.firstOfServer..., _) where windows[message.object] != nil:
            try hear(of: message.object, message.opcode, message.arguments)
        default: break
        }
    }

    private func hear(
        of window: UInt32, _ opcode: UInt32, _ arguments: [UInt8]
    ) throws(DisplayFailure) {
        switch opcode {
        // app_id
        case 1: windows[window]?.next.app = arguments.text(at: 0)
        // state
        case 4:
            let words = stride(from: 4, to: arguments.count, by: 4).map(arguments.word)
            windows[window]?.next.isActive = words.contains(Self.activated)
        // done
        case 5: apply(window)
        // closed; the answer is destroy
        case 6:
            active.removeAll { $0 == window }
            windows[window] = nil
            try connection.send(window, 7)
        // title, output_enter, output_leave, parent
        default: break
        }
    }

    private func apply(_ window: UInt32) {
        guard var state = windows[window] else { return }
        let wasActive = state.isActive
        (state.app, state.isActive) = state.next
        windows[window] = state
        if state.isActive == wasActive { return }
        active.removeAll { $0 == window }
        if state.isActive { active.append(window) }
    }
}
