internal import UnitFile

extension AppManifest {
    /// `[Socket]` (systemd.socket(5)): the sockets on which the daemon listens for the app.
    public struct SocketSettings: Hashable, Sendable {
        public enum Kind: String, CaseIterable, Sendable {
            case stream = "ListenStream"
            case datagram = "ListenDatagram"
            case sequentialPacket = "ListenSequentialPacket"
        }

        public struct Listener: Hashable, Sendable {
            public var kind: Kind
            public var address: String
        }

        /// The sockets, in the order of the file.
        public var listeners: [Listener]
        /// `FileDescriptorName=`; nil means the app's identifier.
        public var name: String?
        /// `SocketMode=`, `SocketUser=`, `SocketGroup=`: the mode and owner of socket files.
        public var mode: UInt32 = 0o666
        public var user: String?
        public var group: String?
        /// `Backlog=`; nil means as many as the kernel allows.
        public var backlog: Int?
        /// `RemoveOnStop=`: whether socket files are removed together with the app's manifest.
        public var removesOnStop = false
    }

    /// Keys of systemd.socket(5) that are not supported here. They are refused rather than ignored.
    private static let refusedSocketKeys = [
        "ListenFIFO", "ListenSpecial", "ListenNetlink", "ListenMessageQueue", "ListenUSBFunction",
        "SocketProtocol", "BindIPv6Only", "BindToDevice", "DirectoryMode", "Writable",
        "FlushPending", "MaxConnections", "MaxConnectionsPerSource", "KeepAlive", "NoDelay",
        "Priority", "ReceiveBuffer", "SendBuffer", "IPTOS", "IPTTL", "Mark", "ReusePort",
        "FreeBind", "Transparent", "Broadcast", "PassCredentials", "PassSecurity",
        "PassPacketInfo", "Timestamping", "ExecStartPre", "ExecStartPost", "Service", "Symlinks",
        "TriggerLimitIntervalSec", "TriggerLimitBurst", "PollLimitIntervalSec", "PollLimitBurst",
    ]

    static func readSocket(_ reader: inout SectionReader) -> SocketSettings? {
        let section = "Socket"
        var settings = SocketSettings(listeners: readListeners(&reader))
        settings.name = reader.last(section, "FileDescriptorName") { value throws(ValueError) in
            try descriptorName(value.text)
        }
        let mode = reader.last(section, "SocketMode") { value throws(ValueError) in
            try value.octalMode()
        }
        settings.mode = mode ?? settings.mode
        settings.user = reader.last(section, "SocketUser", account)
        settings.group = reader.last(section, "SocketGroup", account)
        settings.backlog = reader.last(section, "Backlog") { value throws(ValueError) in
            try value.integer(0...Int(UInt32.max))
        }
        settings.removesOnStop = reader.last(section, "RemoveOnStop", boolean) ?? false
        _ = reader.last(section, "Accept") { value throws(ValueError) in
            if try value.boolean() {
                throw ValueError(message: "only no is supported: the app accepts by itself")
            }
        }
        for key in refusedSocketKeys where reader.unit.last(section, key) != nil {
            _ = reader.last(section, key) { _ throws(ValueError) in
                throw ValueError(message: "is not supported; remove it")
            }
        }
        return settings.listeners.isEmpty ? nil : settings
    }

    private static func readListeners(
        _ reader: inout SectionReader
    ) -> [SocketSettings.Listener] {
        var found: [(Position, SocketSettings.Listener)] = []
        for kind in SocketSettings.Kind.allCases {
            let values = reader.unit.all("Socket", kind.rawValue)
            let addresses = reader.list("Socket", kind.rawValue, atMost: Limit.sockets) {
                word throws(ValueError) in try address(word.text, kind)
            }
            guard addresses.count == values.count else { continue }
            for (value, address) in zip(values, addresses) {
                found.append((value.position, .init(kind: kind, address: address)))
            }
        }
        return found.sorted { $0.0 < $1.0 }.prefix(Limit.sockets).map(\.1)
    }

    /// Checks an address. Only the kernel can check a host's address, when the socket is created.
    private static func address(
        _ text: String, _ kind: SocketSettings.Kind
    ) throws(ValueError) -> String {
        let isUnix = text.hasPrefix("/") || text.hasPrefix("@")
        if isUnix {
            guard text.utf8.count > 1, text.utf8.count <= 107 else {
                throw ValueError(message: "'\(Names.cut(text))' is longer than 107 bytes, or empty")
            }
            return text.hasPrefix("/") ? try Names.path(text) : text
        }
        if text.hasPrefix("vsock:") { return try virtualAddress(text, kind) }
        guard kind != .sequentialPacket else {
            throw ValueError(
                message: "'\(Names.cut(text))' must be a path, an @name or vsock:CID:port")
        }
        let port = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
        guard UInt16(port).map({ $0 > 0 }) == true else {
            throw ValueError(
                message: "'\(Names.cut(text))' is not a socket address: /path, @name, port, "
                    + "IPv4:port, [IPv6]:port or vsock:CID:port")
        }
        return text
    }

    /// `vsock:CID:port`, without a CID for every address of this machine.
    private static func virtualAddress(
        _ text: String, _ kind: SocketSettings.Kind
    ) throws(ValueError) -> String {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // The largest number is excluded: it means any address, or any port.
        func isNumber(_ text: Substring) -> Bool { UInt32(text).map { $0 < .max } ?? false }
        guard parts.count == 3, parts[1].isEmpty || isNumber(parts[1]), isNumber(parts[2]) else {
            throw ValueError(
                message: "'\(Names.cut(text))' is not vsock:CID:port; vsock::port means every "
                    + "address of this machine")
        }
        guard kind != .datagram else {
            throw ValueError(message: "'\(Names.cut(text))': vsock has no datagrams")
        }
        return text
    }

    /// Checks a name (sd_listen_fds_with_names(3)).
    private static func descriptorName(_ text: String) throws(ValueError) -> String {
        let isName =
            text.utf8.count <= 255
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
        guard isName else {
            throw ValueError(
                message: "'\(Names.cut(text))' is not the name of a descriptor: printable ASCII "
                    + "without colons, at most 255 bytes")
        }
        return text
    }
}
