internal import GreenroomLinux

/// A launch screen on a Wayland compositor with `zwlr_layer_shell_v1` (wlr-protocols): a surface in
/// the uppermost layer (`overlay`) that does not take the keyboard. New windows are those of
/// `zwlr_foreign_toplevel_manager_v1`.
final class WaylandScreenDisplay: ScreenDisplay {
    /// Requests, by their numbers in the protocols' descriptions.
    private enum Request {
        static let createSurface: UInt32 = 0
        static let createRegion: UInt32 = 1
        static let createPool: UInt32 = 0
        static let createBuffer: UInt32 = 0
        static let destroyPool: UInt32 = 1
        static let getLayerSurface: UInt32 = 0
        static let setSize: UInt32 = 0
        static let setAnchor: UInt32 = 1
        static let setKeyboard: UInt32 = 4
        static let acknowledge: UInt32 = 6
        static let destroyLayer: UInt32 = 7
        static let destroy: UInt32 = 0
        static let attach: UInt32 = 1
        static let damage: UInt32 = 2
        static let setInputRegion: UInt32 = 5
        static let commit: UInt32 = 6
        static let destroyToplevel: UInt32 = 7
    }
    private static let overlay: UInt32 = 3
    private static let allEdges: UInt32 = 15
    /// The pixels of the largest screen. More would take more memory than the program's unit
    /// allows.
    private static let pixelLimit = ScreenDescription.sideLimit * ScreenDescription.sideLimit
    /// The format of `Pixels`, without the alpha.
    private static let format: UInt32 = 1

    private struct Shown {
        let screen: ScreenDescription
        let surface: UInt32
        let layer: UInt32
        var buffer: UInt32?
    }

    private let connection: WaylandConnection
    private let compositor: UInt32
    private let memory: UInt32
    private let shell: UInt32
    private let toplevels: UInt32
    private var isFinished = false
    private var shown: Shown?
    private(set) var hasMore = false

    var descriptor: CInt { connection.descriptor }

    init(path: String) throws(DisplayFailure) {
        connection = try WaylandConnection(path: path)
        compositor = try connection.bind("wl_compositor")
        memory = try connection.bind("wl_shm")
        shell = try connection.bind("zwlr_layer_shell_v1")
        toplevels = try connection.bind("zwlr_foreign_toplevel_manager_v1")
        try connection.synchronize()
        // Windows that are there already are not new.
        repeat { _ = try hear() } while hasMore
    }

    func hear() throws(DisplayFailure) -> Bool {
        var hasNewWindow = false
        hasMore = true
        for _ in 0..<Self.messageLimit {
            guard let message = try connection.next() else {
                hasMore = false
                break
            }
            switch (message.object, message.opcode) {
            // toplevel. Other events of the window, such as a new title, would only wake this
            // program.
            case (toplevels, 0):
                hasNewWindow = true
                try connection.send(message.arguments.word(at: 0), Request.destroyToplevel)
            // finished
            case (toplevels, 1): isFinished = true
            case _ where message.object == shown?.layer: try hearOfLayer(message)
            case _: break
            }
        }
        if isFinished { throw .ended }
        return hasNewWindow
    }

    private func hearOfLayer(_ message: WaylandConnection.Message) throws(DisplayFailure) {
        // configure, closed (its output is gone)
        guard message.opcode == 0 else { return try remove() }
        let words = message.arguments
        try draw(serial: words.word(at: 0), Int(words.word(at: 4)), Int(words.word(at: 8)))
    }

    func show(_ screen: ScreenDescription) throws(DisplayFailure) {
        try remove()
        let (surface, layer) = (connection.newIdentifier(), connection.newIdentifier())
        try connection.send(compositor, Request.createSurface) { $0.put(surface) }
        try connection.send(shell, Request.getLayerSurface) {
            $0.put(layer)
            $0.put(surface)
            // The compositor chooses the output.
            $0.put(UInt32(0))
            $0.put(Self.overlay)
            $0.put(text: "launch-screen")
        }
        shown = Shown(screen: screen, surface: surface, layer: layer)
        try connection.send(layer, Request.setSize) {
            $0.put(UInt32(screen.size?.width ?? 0))
            $0.put(UInt32(screen.size?.height ?? 0))
        }
        try connection.send(layer, Request.setAnchor) {
            $0.put(screen.size == nil ? Self.allEdges : 0)
        }
        try connection.send(layer, Request.setKeyboard) { $0.put(UInt32(0)) }
        // Clicks go to whatever is below, so a screen that stays too long is in nobody's way.
        let region = connection.newIdentifier()
        try connection.send(compositor, Request.createRegion) { $0.put(region) }
        try connection.send(surface, Request.setInputRegion) { $0.put(region) }
        try connection.send(region, Request.destroy)
        try connection.send(surface, Request.commit)
    }

    private func draw(serial: UInt32, _ width: Int, _ height: Int) throws(DisplayFailure) {
        guard let shown else { return }
        guard width > 0, height > 0, width <= Self.pixelLimit / height else {
            sayNothingIsShown("a screen of \(width)x\(height) pixels takes too much memory")
            return try remove()
        }
        try connection.send(shown.layer, Request.acknowledge) { $0.put(serial) }
        let picture = shown.screen.picture(width: width, height: height)
        let shared: SharedMemory
        do throws(SystemError) { shared = try Self.memory(of: picture) } catch {
            sayNothingIsShown("\(error)")
            return try remove()
        }
        let buffer = try buffer(of: picture, in: shared)
        try connection.send(shown.surface, Request.attach) {
            $0.put(buffer)
            $0.put(UInt32(0))
            $0.put(UInt32(0))
        }
        try connection.send(shown.surface, Request.damage) {
            for number in [0, 0, width, height] { $0.put(UInt32(number)) }
        }
        try connection.send(shown.surface, Request.commit)
        if let former = shown.buffer { try connection.send(former, Request.destroy) }
        self.shown?.buffer = buffer
    }

    private static func memory(of picture: Pixels) throws(SystemError) -> SharedMemory {
        let byteCount = picture.values.count * 4
        let shared = try SharedMemory.create(byteCount: byteCount, name: "launch-screen")
        unsafe picture.values.span.bytes.withUnsafeBytes {
            unsafe shared.baseAddress.copyMemory(from: $0.baseAddress!, byteCount: byteCount)
        }
        return shared
    }

    private func buffer(
        of picture: Pixels, in shared: SharedMemory
    ) throws(DisplayFailure) -> UInt32 {
        let (byteCount, stride) = (picture.values.count * 4, picture.width * 4)
        let (pool, buffer) = (connection.newIdentifier(), connection.newIdentifier())
        try connection.send(memory, Request.createPool, descriptors: [shared.descriptor.rawValue]) {
            $0.put(pool)
            $0.put(UInt32(byteCount))
        }
        try connection.send(pool, Request.createBuffer) {
            $0.put(buffer)
            for number in [0, picture.width, picture.height, stride] { $0.put(UInt32(number)) }
            $0.put(Self.format)
        }
        try connection.send(pool, Request.destroyPool)
        return buffer
    }

    func remove() throws(DisplayFailure) {
        guard let shown else { return }
        self.shown = nil
        try connection.send(shown.layer, Request.destroyLayer)
        try connection.send(shown.surface, Request.destroy)
        if let buffer = shown.buffer { try connection.send(buffer, Request.destroy) }
    }
}
