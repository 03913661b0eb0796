internal import Glibc
internal import GreenroomLinux

/// The name of an X display of this machine, as in DISPLAY: `:NUMBER` or `:NUMBER.SCREEN`
/// (X(7), DISPLAY NAMES).
struct XName: Hashable, Sendable {
    let number: Int
    let screen: Int

    init?(_ text: String) {
        var text = text[...]
        if text.hasPrefix("unix") { text = text.dropFirst(4) }
        guard text.first == ":" else { return nil }
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let number = parts.first.flatMap({ Int($0) }), number >= 0 else {
            return nil
        }
        self.number = number
        screen = parts.count == 2 ? Int(parts[1]) ?? 0 : 0
    }

    var socketPath: String { "/tmp/.X11-unix/X\(number)" }
}

/// Proof for an X server that a client may connect: an entry of a file of xauth(1).
struct XAuthority: Hashable, Sendable {
    var name: [UInt8] = []
    var data: [UInt8] = []

    static let cookie = Array("MIT-MAGIC-COOKIE-1".utf8)

    /// Local (256) or any (65535) host: entries for other machines are for other displays.
    private static let families: Set<Int> = [256, 65535]

    /// Empty if the file has no entry for the display. The server then decides by the client's
    /// user.
    init(file bytes: [UInt8], display: XName) {
        var rest = bytes[...]
        func number() -> Int? {
            guard rest.count >= 2 else { return nil }
            defer { rest = rest.dropFirst(2) }
            return Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        }
        func field() -> [UInt8]? {
            guard let count = number(), rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        while let family = number(), field() != nil, let displayNumber = field(),
            let name = field(), let data = field()
        {
            guard Self.families.contains(family), name == Self.cookie,
                displayNumber.isEmpty || displayNumber == Array("\(display.number)".utf8)
            else { continue }
            self.name = name
            self.data = data
            return
        }
    }

    init(path: String, display: XName) {
        self.init(file: Self.bytes(of: path), display: display)
    }

    /// More than any file needs: an entry has some dozens of bytes.
    private static let byteLimit = 1 << 20

    private static func bytes(of path: String) -> [UInt8] {
        (try? FileDescriptor.open(path, O_RDONLY).readBytes(atMost: byteLimit)) ?? []
    }
}
