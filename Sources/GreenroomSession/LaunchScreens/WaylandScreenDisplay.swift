internal import GreenroomLinux

/// A launch screen on a Wayland compositor with `zwlr_layer_shell_v1` (wlr-protocols): a surface in
/// the layer `top`, above ordinary windows and panels, that does not take the keyboard. The layer
/// above it, `overlay`, is that of screen lockers. New windows are those of
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
        static let setBufferScale: UInt32 = 8
        static let destroyToplevel: UInt32 = 7
    }
    private static let top: UInt32 = 2
    private static let allEdges: UInt32 = 15
    /// The pixels of the largest screen. More would take more memory than the program's unit
    /// allows.
    private static let pixelLimit = ScreenDescription.sideLimit * ScreenDescription.sideLimit
    /// The format of `Pixels`, without the alpha.
    private static let format: UInt32 = 1

    /// The version of `wl_compositor` whose surfaces have a scale.
    private static let scaledVersion: UInt32 = 3

    private struct Shown {
        let screen: ScreenDescription
        let surface: UInt32
        let layer: UInt32
        /// In surface coordinates, not in pixels, as the compositor has set it.
        var size = ScreenDescription.Size(width: 0, height: 0)
        /// Known once the compositor shows the surface.
        var output: UInt32?
        var scale = 1
        var buffer: UInt32?
    }

    private let connection: WaylandConnection
    private let compositor: UInt32
    private let memory: UInt32
    private let shell: UInt32
    private let toplevels: UInt32
    private let canScale: Bool
    private var outputs = WaylandOutputs()
    private var isFinished = false
    private var shown: Shown?
    private(set) var hasMore = false

    var descriptor: CInt { connection.descriptor }

    init(path: String) throws(DisplayFailure) {
        connection = try WaylandConnection(path: path)
        compositor = try connection.bind("wl_compositor", upTo: Self.scaledVersion)
        canScale =
            connection.globals(of: "wl_compositor").first!.version >= Self.scaledVersion
        memory = try connection.bind("wl_shm")
        shell = try connection.bind("zwlr_layer_shell_v1")
        toplevels = try connection.bind("zwlr_foreign_toplevel_manager_v1")
        try outputs.follow(connection)
        try connection.synchronize()
        // Windows that are there already are not new.
        repeat { _ = try hear() } while hasMore
    }

    func hear() throws(DisplayFailure) -> Bool {
        var hasNewWindow = false
        hasMore = true
        for _ in 0..<DisplayStream.messageLimit {
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
            // enter
            case (shown?.surface, 0):
                shown?.output = message.arguments.word(at: 0)
                try adaptScale()
            case _ where outputs.take(message): try adaptScale()
            case _: break
            }
        }
        try outputs.follow(connection)
        if isFinished { throw .ended }
        return hasNewWindow
    }

    private func hearOfLayer(_ message: WaylandConnection.Message) throws(DisplayFailure) {
        // configure, closed (its output is gone)
        guard message.opcode == 0 else { return try remove() }
        let words = message.arguments
        try connection.send(message.object, Request.acknowledge) { $0.put(words.word(at: 0)) }
        shown?.size = .init(width: Int(words.word(at: 4)), height: Int(words.word(at: 8)))
        try draw()
    }

    /// The scale of the output that shows the screen. Until that output is known, the largest scale
    /// of all outputs: a compositor makes a picture smaller without blurring it.
    private var wantedScale: Int {
        guard canScale else { return 1 }
        return outputs.scale(of: shown?.output) ?? 1
    }

    private func adaptScale() throws(DisplayFailure) {
        guard let shown, shown.buffer != nil, shown.scale != scale(for: shown.size) else { return }
        try draw()
    }

    /// The wanted scale, or the largest one at which the picture does not take too much memory; nil
    /// if it always does, or if there is nothing to draw.
    private func scale(for size: ScreenDescription.Size) -> Int? {
        guard size.width > 0, size.height > 0, size.width <= Self.pixelLimit / size.height else {
            return nil
        }
        let count = size.width * size.height
        // The compositor may send any number.
        return (1...min(max(1, wantedScale), 16)).last { count * $0 * $0 <= Self.pixelLimit }
    }

    func show(_ screen: ScreenDescription) throws(DisplayFailure) {
        try remove()
        let (surface, layer) = (connection.newIdentifier(), connection.newIdentifier())
        try connection.send(compositor, Request.createSurface) { $0.put(surface) }
        try connection.send(shell, Request.getLayerSurface) {
            $0.put(layer)
            $0.put(surface)
            // The compositor chooses the output, which is the one where it opens windows.
            $0.put(UInt32(0))
            $0.put(Self.top)
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

    private func draw() throws(DisplayFailure) {
        guard let shown else { return }
        let (width, height) = (shown.size.width, shown.size.height)
        guard width > 0, height > 0 else {
            sayNothingIsShown("the compositor sets no size for the screen")
            return try remove()
        }
        guard let scale = scale(for: shown.size) else {
            sayNothingIsShown("a screen of \(width)x\(height) pixels takes too much memory")
            return try remove()
        }
        let picture = shown.screen.picture(
            width: width * scale, height: height * scale, scale: scale)
        let shared: SharedMemory
        do throws(SystemError) { shared = try Self.memory(of: picture) } catch {
            sayNothingIsShown("\(error)")
            return try remove()
        }
        let buffer = try buffer(of: picture, in: shared)
        if canScale {
            try connection.send(shown.surface, Request.setBufferScale) { $0.put(UInt32(scale)) }
        }
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
        self.shown?.scale = scale
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
