/// Decodes the daemon's messages, for programs that use the channel themselves instead of being
/// preloaded. The rules are those of the shim.
extension DaemonMessage {
    /// - Parameters:
    ///   - datagram: one complete message.
    ///   - descriptorCount: how many descriptors came with it.
    ///   - readStrings: reads a number of bytes from the descriptor with that index. It is called
    ///     for a launch whose strings are too large for a datagram. That descriptor is the last
    ///     one, and has no entry in the message's `roles`.
    public init(
        decoding datagram: RawSpan, descriptorCount: Int = 0,
        readStrings: (_ descriptorIndex: Int, _ byteCount: Int) throws(WireError) -> [UInt8] = {
            (_, byteCount) throws(WireError) in
            throw .wrongLength(announced: byteCount, received: 0)
        }
    ) throws(WireError) {
        let header = try Header(decoding: datagram, descriptorCount: descriptorCount)
        guard let type = WireFormat.MessageType(rawValue: header.type) else {
            self = .event(try AppEvent(AppFrame(header, in: datagram)))
            return
        }
        switch type {
        case .go:
            self = .go(try GoMessage(header, in: datagram, readStrings: readStrings))
            return
        case .ping: self = .ping(cookie: header.cookie)
        case .quit: self = .quit
        case .nameIsWatched: self = .nameIsWatched
        case .paused, .started, .pong, .error, .inherit, .wantsName, .opening:
            throw .unknownType(header.type)
        }
        var unused = header
        unused.type = 0
        if type == .ping { unused.cookie = 0 }
        guard unused == Header() else { throw .unusedFieldSet(type: header.type) }
        let extra = datagram.byteCount - WireFormat.headerByteCount
        guard extra == 0 else { throw .wrongLength(announced: 0, received: extra) }
    }
}

extension GoMessage {
    fileprivate init(
        _ header: Header, in datagram: RawSpan,
        readStrings: (Int, Int) throws(WireError) -> [UInt8]
    ) throws(WireError) {
        let known = Flags.all.rawValue | WireFormat.stringsInDescriptor
        guard header.flags & ~known == 0 else { throw .unknownFlags(header.flags & ~known) }
        guard header.status == 0, header.threads == 0 else {
            throw .unusedFieldSet(type: header.type)
        }
        try Self.check(roles: header.roles)
        let byteCount = Int(header.stringByteCount)
        guard byteCount <= WireFormat.stringLimit else { throw .tooManyStringBytes(byteCount) }

        let inDescriptor = header.flags & WireFormat.stringsInDescriptor != 0
        let extra = datagram.byteCount - WireFormat.headerByteCount
        let expected = inDescriptor ? 0 : byteCount
        guard extra == expected else { throw .wrongLength(announced: expected, received: extra) }
        var roles = header.roles
        let strings: [UInt8]
        if inDescriptor {
            guard roles.popLast() == WireFormat.stringsRole else {
                throw .unknownRole(WireFormat.stringsRole)
            }
            strings = try readStrings(roles.count, byteCount)
            guard strings.count == byteCount else {
                throw .wrongLength(announced: byteCount, received: strings.count)
            }
        } else {
            guard !roles.contains(WireFormat.stringsRole) else {
                throw .unknownRole(WireFormat.stringsRole)
            }
            strings = datagram.bytes(from: WireFormat.headerByteCount)
        }
        guard header.argumentCount > 0 else { throw .noArguments }
        let (arguments, environment) = try Self.split(
            strings, Int(header.argumentCount), Int(header.environmentCount))

        let umask = header.umask == WireFormat.umaskUnchanged ? nil : header.umask
        if let umask, umask > 0o777 { throw .invalidUmask(umask) }
        var typed: [DescriptorRole] = []
        for role in roles { typed.append(try DescriptorRole(rawValue: role)) }
        self.init(
            arguments: arguments, environment: environment,
            flags: Flags(rawValue: header.flags & Flags.all.rawValue), umask: umask, roles: typed,
            cookie: header.cookie)
    }

    /// Divides the strings after the arguments.
    private static func split(
        _ bytes: [UInt8], _ argumentCount: Int, _ environmentCount: Int
    ) throws(WireError) -> (StringList, StringList) {
        var found = 0
        var argumentEnd = 0
        for (index, byte) in bytes.enumerated() where byte == 0 {
            found += 1
            if found == argumentCount { argumentEnd = index + 1 }
        }
        guard found == argumentCount + environmentCount, bytes.last == 0 else {
            throw .malformedStrings
        }
        return (
            StringList(terminated: Array(bytes[..<argumentEnd]), count: argumentCount),
            StringList(terminated: Array(bytes[argumentEnd...]), count: environmentCount)
        )
    }
}

extension RawSpan {
    fileprivate func bytes(from offset: Int) -> [UInt8] {
        unsafe withUnsafeBytes { unsafe Array($0[offset...]) }
    }
}
