/// The outputs of a Wayland compositor, as `wl_output` and, with fractions, `xdg-output` describe
/// them. Themes and fonts come by the message bus there.
final class WaylandSettings: SettingsServer {
    private static let output = "wl_output"
    /// The version of `wl_output` that tells the scale, and the end of a description.
    private static let outputVersion: UInt32 = 2

    private struct Output {
        let object: UInt32
        let description: UInt32?
        var scale = 1.0
        /// The longer side, which an output keeps when it is turned: in pixels, and in the units of
        /// windows' sizes.
        var side = 0.0
        var logicalSide = 0.0
        /// A new output is described in parts.
        var isDescribed: Bool

        var scales: [Double] {
            guard isDescribed else { return [] }
            return side > 0 && logicalSide > 0 ? [scale, side / logicalSide] : [scale]
        }
    }

    private let connection: WaylandConnection
    private let descriptions: UInt32?
    /// The outputs by the numbers that the compositor has for them as globals.
    private var outputs: [UInt32: Output] = [:]
    private(set) var hasMore = false

    var descriptor: CInt { connection.descriptor }

    init(path: String) throws(DisplayFailure) {
        connection = try WaylandConnection(path: path, patience: Self.patience)
        let manager = "zxdg_output_manager_v1"
        descriptions =
            connection.globals(of: manager).isEmpty ? nil : try connection.bind(manager)
        try followOutputs()
        // The first descriptions of the outputs are not changes.
        try connection.synchronize()
        repeat { _ = try hear() } while hasMore
    }

    func hear() throws(DisplayFailure) -> Bool {
        var hasChanged = false
        hasMore = true
        for _ in 0..<DisplayStream.messageLimit {
            guard let message = try connection.next() else {
                hasMore = false
                break
            }
            if take(message) { hasChanged = true }
        }
        return try followOutputs() || hasChanged
    }

    /// Outputs come and go as globals do. Returns whether one has.
    @discardableResult
    private func followOutputs() throws(DisplayFailure) -> Bool {
        let globals = connection.globals(of: Self.output)
        let (known, present) = (Set(outputs.keys), Set(globals.map(\.name)))
        for name in known.subtracting(present) {
            // zxdg_output_v1.destroy; the second version of wl_output has no such request.
            if let description = outputs.removeValue(forKey: name)?.description {
                try connection.send(description, 0)
            }
        }
        for global in globals where outputs[global.name] == nil {
            let object = try connection.bind(
                global, version: min(global.version, Self.outputVersion))
            var description: UInt32?
            if let descriptions {
                // get_xdg_output
                let made = connection.newIdentifier()
                try connection.send(descriptions, 1) {
                    $0.put(made)
                    $0.put(object)
                }
                description = made
            }
            outputs[global.name] = Output(
                object: object, description: description,
                isDescribed: global.version < Self.outputVersion)
        }
        return known != present
    }

    /// Returns whether the message describes an output.
    private func take(_ message: WaylandConnection.Message) -> Bool {
        let words = message.arguments
        guard
            let name = outputs.first(where: {
                $0.value.object == message.object || $0.value.description == message.object
            })?.key
        else { return false }
        switch (outputs[name]!.object == message.object, message.opcode) {
        // wl_output.mode: the current one, of those that it has
        case (true, 1) where words.word(at: 0) & 1 == 1:
            outputs[name]!.side = Double(max(words.word(at: 4), words.word(at: 8)))
        // wl_output.done
        case (true, 2): outputs[name]!.isDescribed = true
        // wl_output.scale
        case (true, 3): outputs[name]!.scale = Double(words.word(at: 0))
        // zxdg_output_v1.logical_size
        case (false, 1):
            outputs[name]!.logicalSide = Double(max(words.word(at: 0), words.word(at: 4)))
        case _: break
        }
        return true
    }

    /// A new or removed output changes nothing if another output has the same scale.
    func appearance() -> Appearance {
        Appearance(scales: Set(outputs.values.flatMap(\.scales)).sorted())
    }
}
