/// A message of the daemon to a prewarmed process.
public enum DaemonMessage: Equatable, Sendable {
    /// Go on as this launch.
    case go(GoMessage)
    /// Answer with a pong, which a paused process does.
    case ping(cookie: UInt64)
    /// Exit without running main.
    case quit
    /// The name that the process wants is watched, so the process may own it.
    case nameIsWatched
    /// An event for an app that is made with an SDK.
    case event(AppEvent)

    /// A message ready to be sent.
    public struct Encoded: Equatable, Sendable {
        public var datagram: [UInt8]
        /// If not nil, the sender puts these bytes into a sealed memfd and sends it as the **last**
        /// descriptor, after those of the message's roles. The datagram already contains its role.
        public var descriptorStrings: [UInt8]?
    }

    /// - Throws: ``WireError`` if the message exceeds a limit or contradicts itself.
    public func encoded() throws(WireError) -> Encoded {
        switch self {
        case .go(let go): try go.encoded()
        case .ping(let cookie):
            Encoded(
                datagram: Header(type: WireFormat.MessageType.ping.rawValue, cookie: cookie)
                    .datagram())
        case .quit:
            Encoded(datagram: Header(type: WireFormat.MessageType.quit.rawValue).datagram())
        case .nameIsWatched:
            Encoded(
                datagram: Header(type: WireFormat.MessageType.nameIsWatched.rawValue).datagram())
        case .event(let event): Encoded(datagram: try event.encoded())
        }
    }
}

extension GoMessage {
    /// Encodes the message with one allocation for the datagram, apart from strings that need a
    /// descriptor.
    func encoded() throws(WireError) -> DaemonMessage.Encoded {
        var rawRoles = roles.map(\.rawValue)
        if needsStringDescriptor { rawRoles.append(WireFormat.stringsRole) }
        try Self.check(roles: rawRoles)
        guard arguments.count > 0 else { throw .noArguments }
        guard stringByteCount <= WireFormat.stringLimit else {
            throw .tooManyStringBytes(stringByteCount)
        }
        if let umask, umask > 0o777 { throw .invalidUmask(umask) }
        guard flags.isSubset(of: .all) else { throw .unknownFlags(flags.rawValue) }

        let header = Header(
            type: WireFormat.MessageType.go.rawValue,
            flags: flags.rawValue
                | (needsStringDescriptor ? WireFormat.stringsInDescriptor : 0),
            argumentCount: UInt32(arguments.count), environmentCount: UInt32(environment.count),
            stringByteCount: UInt32(stringByteCount), umask: umask ?? WireFormat.umaskUnchanged,
            descriptorCount: UInt32(rawRoles.count), cookie: cookie, roles: rawRoles)
        guard needsStringDescriptor else {
            var datagram = header.datagram(reserving: stringByteCount)
            datagram.append(contentsOf: arguments.bytes)
            datagram.append(contentsOf: environment.bytes)
            return DaemonMessage.Encoded(datagram: datagram)
        }
        return DaemonMessage.Encoded(
            datagram: header.datagram(), descriptorStrings: arguments.bytes + environment.bytes)
    }

    static func check(roles: [Int32]) throws(WireError) {
        guard roles.count <= WireFormat.descriptorLimit else {
            throw .tooManyDescriptors(roles.count)
        }
        for (index, role) in roles.enumerated() {
            if role < 0, role != WireFormat.workingDirectoryRole, role != WireFormat.stringsRole {
                throw .unknownRole(role)
            }
            if roles[..<index].contains(role) { throw .duplicateRole(role) }
        }
    }
}
