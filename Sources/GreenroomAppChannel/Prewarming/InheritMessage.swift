/// INHERIT: what the launch that follows has from its caller beside strings and descriptors, for a
/// process that the shim paused. No answer; the next GO applies it, and fails if it cannot.
public enum InheritMessage {
    /// Of a `struct gr_inherited` (`CGreenroomLinux/include/gr_inherited.h`).
    public static let byteCount = 424

    /// - Parameter state: that many bytes.
    public static func encoded(_ state: [UInt8]) -> [UInt8] {
        precondition(state.count == byteCount, "the shim refuses any other size")
        let header = Header(
            type: WireFormat.MessageType.inherit.rawValue, stringByteCount: UInt32(byteCount))
        return header.datagram(reserving: byteCount) + state
    }
}
