/// INHERIT: what the next launch inherits from its caller in addition to strings and descriptors,
/// for a process that the shim paused. It is not answered. The next GO applies what was sent, and
/// fails if that is not possible.
public enum InheritMessage {
    /// The size of `struct gr_inherited` (`CGreenroomLinux/include/gr_inherited.h`).
    public static let byteCount = 424

    /// - Parameter state: ``byteCount`` bytes.
    public static func encoded(_ state: [UInt8]) -> [UInt8] {
        precondition(state.count == byteCount, "the shim refuses any other size")
        let header = Header(
            type: WireFormat.MessageType.inherit.rawValue, stringByteCount: UInt32(byteCount))
        return header.datagram(reserving: byteCount) + state
    }
}
