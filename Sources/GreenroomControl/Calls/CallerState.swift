public import Varlink

extension Control {
    /// What a program inherits from its caller when it is executed (execve(2)), apart from
    /// arguments, environment, directory, umask and descriptors. The defaults are the values of an
    /// ordinary shell.
    public struct CallerState: Hashable, Sendable {
        /// The soft and the hard limit of each of the 16 resources in the kernel's order
        /// (getrlimit(2)), where −1 means no limit; or an empty array.
        public var limits: [Int64] = []
        /// −20 to 19.
        public var nice: Int32 = 0
        /// The priority of ioprio_set(2).
        public var ioPriority: UInt32 = 0
        /// The CPUs, 32 in each word, at most 1024.
        public var affinity: [UInt32] = []
        /// Numbers of signals (signal(7)).
        public var ignoredSignals: [Int] = []
        public var blockedSignals: [Int] = []
        /// The execution domain of personality(2).
        public var personality: UInt32 = 0
        public var noNewPrivileges = false

        public static let limitCount = 32
        static let affinityWordLimit = 32

        public init() {}
    }

    /// A descriptor that is neither standard input, output nor error.
    public struct OtherDescriptor: Hashable, Sendable {
        /// The descriptor's number in the app, 3 or above.
        public var number: Int32
        /// An index into the call's descriptors.
        public var index: Int

        public init(number: Int32, index: Int) {
            self.number = number
            self.index = index
        }
    }
}

extension Control.CallerState: ParametersEncodable {
    init(_ object: JSONObject) throws(ServiceError) {
        for member in object.members {
            switch member.name {
            case "limits":
                guard let numbers: [Int64] = try member.optionalIntegers() else { break }
                guard numbers.count == Self.limitCount, numbers.allSatisfy({ $0 >= -1 }) else {
                    throw member.invalid
                }
                limits = numbers
            case "nice":
                nice = try member.optionalInteger() ?? 0
                guard -20...19 ~= nice else { throw member.invalid }
            case "ioPriority": ioPriority = try member.optionalInteger() ?? 0
            case "affinity":
                affinity = try member.optionalIntegers() ?? []
                guard affinity.count <= Self.affinityWordLimit else { throw member.invalid }
            case "ignoredSignals": ignoredSignals = try Self.signals(member)
            case "blockedSignals": blockedSignals = try Self.signals(member)
            case "personality": personality = try member.optionalInteger() ?? 0
            case "noNewPrivileges": noNewPrivileges = try member.optionalBool()
            case _: throw member.invalid
            }
        }
    }

    private static func signals(_ member: JSONObject.Member) throws(ServiceError) -> [Int] {
        let signals: [Int] = try member.optionalIntegers() ?? []
        guard signals.count <= 64, signals.allSatisfy({ 1...64 ~= $0 }) else {
            throw member.invalid
        }
        return signals
    }

    public func encodeMembers(to writer: inout JSONWriter) {
        func put(_ name: String, _ values: some Sequence<some BinaryInteger>) {
            writer.name(name)
            writer.beginArray()
            for value in values { writer.value(Int64(value)) }
            writer.endArray()
        }
        if !limits.isEmpty { put("limits", limits) }
        if nice != 0 { writer.member("nice", nice) }
        if ioPriority != 0 { writer.member("ioPriority", ioPriority) }
        if !affinity.isEmpty { put("affinity", affinity) }
        if !ignoredSignals.isEmpty { put("ignoredSignals", ignoredSignals) }
        if !blockedSignals.isEmpty { put("blockedSignals", blockedSignals) }
        if personality != 0 { writer.member("personality", personality) }
        if noNewPrivileges { writer.member("noNewPrivileges", true) }
    }
}
