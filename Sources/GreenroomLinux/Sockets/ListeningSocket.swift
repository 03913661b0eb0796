internal import CGreenroomLinux
public import Glibc

/// Where a socket listens, written as in systemd.socket(5), `ListenStream=`.
public enum SocketAddress: Hashable, Sendable {
    case path(String)
    /// The name without its `@` (unix(7), abstract).
    case abstract(String)
    /// An address of 4 or 16 bytes, in network order.
    case internet([UInt8], port: UInt16)
    /// A port on every address of this machine, IPv4 and IPv6.
    case port(UInt16)
    /// A port of the machine's hosts and guests (vsock(7)); a nil `cid` is every address of this
    /// machine.
    case virtual(cid: UInt32?, port: UInt32)

    /// `/path`, `@name`, `port`, `IPv4:port`, `[IPv6]:port` or `vsock:CID:port`; nil for anything
    /// else.
    public init?(_ text: String) {
        if text.hasPrefix("/") || text.hasPrefix("@") {
            let name = String(text.dropFirst(text.hasPrefix("@") ? 1 : 0))
            // sun_path has 108 bytes, one of which is the NUL after a path or before a name.
            guard !name.isEmpty, name != "/", name.utf8.count <= 107, !name.utf8.contains(0) else {
                return nil
            }
            self = text.hasPrefix("@") ? .abstract(name) : .path(name)
            return
        }
        if let port = Self.port(text[...]) {
            self = .port(port)
            return
        }
        if text.hasPrefix("vsock:") {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, let port = Self.number(parts[2]), port != .max else {
                return nil
            }
            let cid = Self.number(parts[1])
            guard cid != nil || parts[1].isEmpty else { return nil }
            self = .virtual(cid: cid, port: port)
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = Self.port(text[text.index(after: colon)...])
        else { return nil }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let bytes =
            isBracketed
            ? Self.bytes(String(host.dropFirst().dropLast()), AF_INET6, count: 16)
            : Self.bytes(String(host), AF_INET, count: 4)
        guard let bytes else { return nil }
        self = .internet(bytes, port: port)
    }

    public var isUnix: Bool {
        switch self {
        case .path, .abstract: true
        case .internet, .port, .virtual: false
        }
    }

    private static func number(_ text: Substring) -> UInt32? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? UInt32(text) : nil
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(text), port > 0
        else { return nil }
        return port
    }

    /// inet_pton(3)
    private static func bytes(_ host: String, _ family: CInt, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(family, host, buffer.baseAddress!)
        }
        return result == 1 ? bytes : nil
    }
}

/// A bound socket, which also listens if its kind allows (socket(2), bind(2), listen(2)).
public struct ListeningSocket: Sendable {
    public enum Kind: UInt8, Sendable {
        case stream
        case datagram
        case sequentialPacket

        fileprivate var rawType: CInt {
            switch self {
            case .stream: CInt(SOCK_STREAM.rawValue)
            case .datagram: CInt(SOCK_DGRAM.rawValue)
            case .sequentialPacket: CInt(SOCK_SEQPACKET.rawValue)
            }
        }
    }

    public let descriptor: FileDescriptor

    /// - Parameters:
    ///   - mode: the mode of the socket's file, which also gets `user` and `group`; -1 keeps the
    ///     owner.
    ///   - backlog: at most this many connections may wait; the kernel has its own limit.
    public static func open(
        _ kind: Kind, at address: SocketAddress, mode: mode_t, user: uid_t = .max,
        group: gid_t = .max, backlog: CInt = .max
    ) throws(SystemError) -> ListeningSocket {
        let socket: FileDescriptor
        switch address {
        case .path(let path):
            socket = try make(AF_UNIX, kind)
            let place = try SocketPlace(path)
            try bind(socket, to: place, kind)
            // Nobody can connect before listen(2).
            do throws(SystemError) { try give(place, mode, user, group) } catch {
                _ = unsafe unlink(place.name)
                throw error
            }
        case .abstract(let name):
            socket = try make(AF_UNIX, kind)
            try bind(socket, to: unixAddress(abstract: name), "@" + name)
        case .internet(let bytes, let port):
            socket = try make(bytes.count == 4 ? AF_INET : AF_INET6, kind)
            try prepareInternet(socket, isSixOnly: bytes.count == 16)
            try bind(socket, to: internetAddress(bytes, port), "port \(port)")
        case .port(let port): socket = try openAnywhere(port, kind)
        case .virtual(let cid, let port):
            socket = try make(AF_VSOCK, kind)
            try bind(socket, to: virtualAddress(cid, port), "vsock port \(port)")
        }
        if kind != .datagram {
            try systemCall("listen") { listen(socket.rawValue, backlog) }
        }
        return ListeningSocket(descriptor: socket)
    }

    /// Changes the mode, owner and backlog of a socket that is already bound at the address.
    /// Waiting connections are kept.
    public static func adjust(
        _ socket: FileDescriptor, _ kind: Kind, at address: SocketAddress, mode: mode_t,
        user: uid_t, group: gid_t, backlog: CInt = .max
    ) throws(SystemError) {
        if case .path(let path) = address { try give(SocketPlace(path), mode, user, group) }
        if kind != .datagram {
            try systemCall("listen") { listen(socket.rawValue, backlog) }
        }
    }

    /// Removes the file of a socket.
    public static func remove(_ address: SocketAddress) {
        guard case .path(let path) = address, let place = try? SocketPlace(path) else { return }
        _ = unsafe unlink(place.name)
    }

    /// Opens one socket for IPv4 and IPv6, or for IPv4 alone if the kernel has no IPv6.
    private static func openAnywhere(
        _ port: UInt16, _ kind: Kind
    ) throws(SystemError) -> FileDescriptor {
        do throws(SystemError) {
            let socket = try make(AF_INET6, kind)
            try prepareInternet(socket, isSixOnly: false)
            try bind(socket, to: internetAddress([UInt8](repeating: 0, count: 16), port), "\(port)")
            return socket
        } catch {
            guard error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL else { throw error }
            let socket = try make(AF_INET, kind)
            try prepareInternet(socket, isSixOnly: nil)
            try bind(socket, to: internetAddress([0, 0, 0, 0], port), "port \(port)")
            return socket
        }
    }

    private static func make(_ family: CInt, _ kind: Kind) throws(SystemError) -> FileDescriptor {
        let closeOnExec: CInt = 0o2000000
        return FileDescriptor(
            owning: try systemCall("socket") { socket(family, kind.rawType | closeOnExec, 0) })
    }

    /// - Parameter isSixOnly: nil for an IPv4 socket.
    private static func prepareInternet(
        _ socket: FileDescriptor, isSixOnly: Bool?
    ) throws(SystemError) {
        try setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1)
        guard let isSixOnly else { return }
        // An IPv4 socket fails with EOPNOTSUPP, which does not matter.
        try? setOption(socket, CInt(IPPROTO_IPV6), IPV6_V6ONLY, isSixOnly ? 1 : 0)
    }

    private static func setOption(
        _ socket: FileDescriptor, _ level: CInt, _ option: CInt, _ value: CInt
    ) throws(SystemError) {
        var value = value
        try systemCall("setsockopt") {
            unsafe setsockopt(
                socket.rawValue, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    // MARK: Binding

    /// Binds the socket, and replaces a socket file on which nobody listens any more.
    private static func bind(
        _ socket: FileDescriptor, to place: SocketPlace, _ kind: Kind
    ) throws(SystemError) {
        do throws(SystemError) {
            try systemCall("bind", on: place.path) { unsafe gr_bind(socket.rawValue, place.name) }
        } catch {
            guard error.code == EADDRINUSE, isAbandoned(place.name, kind) else { throw error }
            try systemCall("unlink", on: place.path) { unsafe unlink(place.name) }
            try systemCall("bind", on: place.path) { unsafe gr_bind(socket.rawValue, place.name) }
        }
    }

    /// Whether nobody listens on the socket file. A file of another kind would also refuse
    /// connections, but must not be removed.
    private static func isAbandoned(_ path: String, _ kind: Kind) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
            let probe = try? make(AF_UNIX, kind),
            // If the backlog of a live socket is full, a blocking connect would wait.
            (try? probe.setNonblocking(true)) != nil
        else { return false }
        return unsafe gr_connect(probe.rawValue, path) < 0 && errno == ECONNREFUSED
    }

    /// Sets the mode and owner of a socket's file. Another user may own the folder and may have
    /// replaced the file by now, so the file is changed through a descriptor that was checked, not
    /// by its name.
    private static func give(
        _ place: SocketPlace, _ mode: mode_t, _ user: uid_t, _ group: gid_t
    ) throws(SystemError) {
        let path = place.path
        let file = try FileDescriptor.open(place.name, FileDescriptor.pathOnly | O_NOFOLLOW)
        var status = stat()
        try systemCall("fstat", on: path) { unsafe fstat(file.rawValue, &status) }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(code: ENOTSOCK, call: "chmod", subject: path)
        }
        // fchmod(2) does not take an O_PATH descriptor.
        let name = "/proc/self/fd/\(file.rawValue)"
        try systemCall("chmod", on: path) { unsafe chmod(name, mode) }
        guard user != .max || group != .max else { return }
        try systemCall("chown", on: path) { unsafe chown(name, user, group) }
    }

    private static func bind(
        _ socket: FileDescriptor, to address: [UInt8], _ subject: String
    ) throws(SystemError) {
        try systemCall("bind", on: subject) {
            unsafe address.withUnsafeBytes {
                unsafe Glibc.bind(
                    socket.rawValue, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                    socklen_t($0.count))
            }
        }
    }

    /// A struct sockaddr_un that ends with the name, because any byte after it would belong to the
    /// name.
    private static func unixAddress(abstract name: String) -> [UInt8] {
        family(AF_UNIX) + [0] + Array(name.utf8)
    }

    /// A struct sockaddr_in or sockaddr_in6 (ip(7), ipv6(7)).
    private static func internetAddress(_ bytes: [UInt8], _ port: UInt16) -> [UInt8] {
        let head =
            family(bytes.count == 4 ? AF_INET : AF_INET6)
            + [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
        let zeros = [UInt8](repeating: 0, count: bytes.count == 4 ? 8 : 4)
        return bytes.count == 4 ? head + bytes + zeros : head + zeros + bytes + zeros
    }

    /// A struct sockaddr_vm (vsock(7)), in the machine's byte order.
    private static func virtualAddress(_ cid: UInt32?, _ port: UInt32) -> [UInt8] {
        let anyAddress = UInt32.max
        return family(AF_VSOCK) + [0, 0] + bytes(of: port) + bytes(of: cid ?? anyAddress)
            + bytes(of: 0)
    }

    private static func bytes(of value: UInt32) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }

    private static func family(_ number: CInt) -> [UInt8] {
        let value = UInt16(truncatingIfNeeded: number)
        return unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }
}

/// The place where a socket's file is, or is to be made. Missing folders are made with the default
/// mode of DirectoryMode= in systemd.socket(5).
private struct SocketPlace {
    /// The path to show in messages.
    let path: String
    /// The path to give to the kernel. In a stranger's folder, it goes through the descriptor of
    /// the folder that was checked, because the folder's path may lead elsewhere by now.
    /// (getsockname(2) then returns this name.)
    let name: String
    private let folder: FileDescriptor?

    init(_ path: String) throws(SystemError) {
        self.path = path
        do throws(PathOwners.Objection) { folder = try PathOwners().folder(of: path) } catch {
            throw error.systemError
        }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        name = folder.map { "/proc/self/fd/\($0.rawValue)\(path[slash...])" } ?? path
    }
}
