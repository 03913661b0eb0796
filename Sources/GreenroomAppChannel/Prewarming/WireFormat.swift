/// The numbers of the app channel, which `Sources/CPrewarm/wire.h` defines in C.
///
/// One datagram of a `SOCK_SEQPACKET` socketpair is one message: a header of 160 bytes,
/// little-endian, followed by NUL-terminated strings. Descriptors are sent with it by `SCM_RIGHTS`,
/// and each has a role. A test compiles the C header and compares every number below with it.
public enum WireFormat {
    public static let magic: UInt32 = 0x3143_5247
    public static let version: UInt16 = 1
    public static let headerByteCount = 160

    /// The highest number of descriptors in one message: enough for standard streams, socket
    /// activation and two roles.
    public static let descriptorLimit = 28

    /// Strings of up to this size are in the datagram. The default socket buffer (212 KB) holds
    /// two such messages.
    public static let inlineStringLimit = 65_536

    /// Longer strings are in a memfd, up to the kernel's own limit for exec
    /// (three quarters of an 8 MiB stack, execve(2)).
    public static let stringLimit = 6 << 20

    /// The largest datagram that either side sends, and so the size of a receive buffer.
    public static let datagramLimit = headerByteCount + inlineStringLimit

    /// The offset of a message's cookie, for answers to messages that cannot be decoded.
    public static let cookieOffset = Offset.cookie

    /// The offset of each field of the header, in bytes.
    enum Offset {
        static let magic = 0
        static let version = 4
        static let type = 6
        static let flags = 8
        static let argumentCount = 12
        static let environmentCount = 16
        static let stringByteCount = 20
        static let umask = 24
        static let descriptorCount = 28
        static let cookie = 32
        static let status = 40
        static let threads = 44
        static let roles = 48
    }

    enum MessageType: UInt16, CaseIterable {
        case paused = 1
        case started = 2
        case pong = 3
        case error = 4
        case wantsName = 5
        case opening = 6
        case go = 16
        case ping = 17
        case quit = 18
        case inherit = 19
        case nameIsWatched = 20
    }

    /// A flag of GO: the strings are in the descriptor with the role `-3`.
    static let stringsInDescriptor: UInt32 = 8
    static let stringsRole: Int32 = -3
    static let workingDirectoryRole: Int32 = -1
    /// An SDK app's credentials, ``CredentialFile``.
    static let credentialsRole: Int32 = -4
    static let umaskUnchanged: UInt32 = .max
}
