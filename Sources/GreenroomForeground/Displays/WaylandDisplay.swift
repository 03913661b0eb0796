/// A Wayland compositor that tells other clients about its windows
/// (`zwlr_foreign_toplevel_manager_v1`, wlr-protocols: sway, labwc, Wayfire, Hyprland, phoc), asked in
/// Wayland's own wire format, so that no library is needed. `ext_foreign_toplevel_list_v1` lists
/// windows too, but does not say which one is active.
///
/// The compositor names an app, not a process.
final class WaylandDisplay: Display {
    static let manager = "zwlr_foreign_toplevel_manager_v1"

    private enum Object {
        static let display: UInt32 = 1
        static let registry: UInt32 = 2
        static let firstCallback: UInt32 = 3
        static let manager: UInt32 = 4
        static let secondCallback: UInt32 = 5
        /// Numbers that the server gives begin here.
        static let firstOfServer: UInt32 = 0xff00_0000
    }

    /// A window. What the compositor tells counts from its `done` on.
    private struct Window {
        var app = ""
        var isActive = false
        var next: (app: String, isActive: Bool) = ("", false)
    }
    /// The state `activated` in `state`'s array.
    private static let activated: UInt32 = 2

    private let stream: DisplayStream
    private var managerName: UInt32?
    private var isBound = false
    private var answered: UInt32 = 0
    private var windows: [UInt32: Window] = [:]
    /// The active windows, the latest last: each seat has one.
    private var active: [UInt32] = []
    private var isFinished = false

    var descriptor: CInt { stream.descriptor }

    init(path: String) throws(DisplayFailure) {
        stream = try DisplayStream(path: path)
        try send(Object.display, 1) { $0.put(Object.registry) }
        try awaitAnswer(Object.firstCallback)
        guard let managerName else {
            throw .unusable("the compositor at \(path) has no \(Self.manager)")
        }
        isBound = true
        try send(Object.registry, 0) {
            $0.put(managerName)
            $0.put(text: Self.manager)
            $0.put(UInt32(1))
            $0.put(Object.manager)
        }
        try awaitAnswer(Object.secondCallback)
    }

    func front() throws(DisplayFailure) -> Front? {
        while try stream.peek(1) != nil { try readMessage() }
        if isFinished { throw .ended }
        return active.last.flatMap { windows[$0] }.map { .app($0.app) }
    }

    // MARK: Messages

    private func send(
        _ object: UInt32, _ opcode: UInt32, _ put: (inout [UInt8]) -> Void = { _ in }
    ) throws(DisplayFailure) {
        var arguments: [UInt8] = []
        put(&arguments)
        var message: [UInt8] = []
        message.put(object)
        message.put(UInt32(8 + arguments.count) << 16 | opcode)
        try stream.send(message + arguments)
    }

    /// Has the compositor answer after everything that it says before (`wl_display.sync`).
    private func awaitAnswer(_ callback: UInt32) throws(DisplayFailure) {
        try send(Object.display, 0) { $0.put(callback) }
        while answered != callback { try readMessage() }
    }

    private func readMessage() throws(DisplayFailure) {
        let head = try stream.take(8)
        let size = Int(head.word(at: 4) >> 16)
        guard size >= 8 else { throw .ended }
        let arguments = try stream.take(size - 8)
        try hear(head.word(at: 0), head.word(at: 4) & 0xffff, arguments)
    }

    private func hear(
        _ object: UInt32, _ opcode: UInt32, _ arguments: [UInt8]
    ) throws(DisplayFailure) {
        switch (object, opcode) {
        // wl_display.error
        case (Object.display, 0): throw .ended
        // wl_registry.global
        case (Object.registry, 0) where arguments.text(at: 4) == Self.manager && !isBound:
            managerName = arguments.word(at: 0)
        // wl_callback.done
        case (Object.firstCallback, 0), (Object.secondCallback, 0): answered = object
        // toplevel, finished
        case (Object.manager, 0) where isBound: windows[arguments.word(at: 0)] = Window()
        case (Object.manager, 1) where isBound: isFinished = true
        case (Object.firstOfServer..., _) where windows[object] != nil:
            try hear(of: object, opcode, arguments)
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
            try send(window, 7)
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

extension [UInt8] {
    /// A string with its length and its NUL, as in Wayland's messages.
    fileprivate mutating func put(text: String) {
        put(UInt32(text.utf8.count + 1))
        self += Array(text.utf8)
        append(0)
        pad()
    }

    fileprivate func text(at offset: Int) -> String {
        let length = Int(word(at: offset))
        guard length > 0, offset + 4 + length <= count else { return "" }
        return String(decoding: self[(offset + 4)..<(offset + 3 + length)], as: UTF8.self)
    }
}
