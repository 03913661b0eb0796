/// The outputs of a Wayland compositor, and how many pixels each has for a unit of windows' sizes.
struct WaylandOutputs {
    private static let interface = "wl_output"
    /// The version that tells the scale.
    private static let version: UInt32 = 2

    private struct Output {
        let object: UInt32
        var scale = 1
    }

    /// The outputs by the numbers that the compositor has for them as globals.
    private var outputs: [UInt32: Output] = [:]

    /// Outputs come and go as globals do.
    mutating func follow(_ connection: WaylandConnection) throws(DisplayFailure) {
        let globals = connection.globals(of: Self.interface)
        for name in Set(outputs.keys).subtracting(globals.map(\.name)) { outputs[name] = nil }
        for global in globals where outputs[global.name] == nil {
            outputs[global.name] = Output(
                object: try connection.bind(
                    global, version: min(global.version, Self.version)))
        }
    }

    /// Returns whether the message tells an output's scale.
    mutating func take(_ message: WaylandConnection.Message) -> Bool {
        // wl_output.scale
        guard message.opcode == 3,
            let name = outputs.first(where: { $0.value.object == message.object })?.key
        else { return false }
        outputs[name]!.scale = Int(message.arguments.word(at: 0))
        return true
    }

    /// The scale of that output; without one, the largest of all. Nil if there are no outputs.
    func scale(of object: UInt32?) -> Int? {
        if let output = outputs.values.first(where: { $0.object == object }) { return output.scale }
        return outputs.values.map(\.scale).max()
    }
}
