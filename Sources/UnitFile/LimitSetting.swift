/// The value of a setting like `LimitNOFILE=` (systemd.exec(5)): a resource limit of a process.
public struct LimitSetting: Hashable, Sendable {
    /// The resources (RLIMIT_* of setrlimit(2)), with the names that systemd.exec(5) uses.
    public enum Resource: String, CaseIterable, Sendable {
        case cpu = "CPU"
        case fileSize = "FSIZE"
        case data = "DATA"
        case stack = "STACK"
        case core = "CORE"
        case residentSet = "RSS"
        case openFiles = "NOFILE"
        case addressSpace = "AS"
        case processes = "NPROC"
        case lockedMemory = "MEMLOCK"
        case locks = "LOCKS"
        case pendingSignals = "SIGPENDING"
        case messageQueues = "MSGQUEUE"
        case nice = "NICE"
        case realtimePriority = "RTPRIO"
        case realtimeTime = "RTTIME"

        /// The kernel's number, RLIMIT_* of x86-64 and aarch64 (asm-generic/resource.h).
        public var number: Int32 {
            switch self {
            case .cpu: 0
            case .fileSize: 1
            case .data: 2
            case .stack: 3
            case .core: 4
            case .residentSet: 5
            case .processes: 6
            case .openFiles: 7
            case .lockedMemory: 8
            case .addressSpace: 9
            case .locks: 10
            case .pendingSignals: 11
            case .messageQueues: 12
            case .nice: 13
            case .realtimePriority: 14
            case .realtimeTime: 15
            }
        }
    }

    /// RLIM_INFINITY
    public static let infinity = UInt64.max

    public var resource: Resource
    public var soft: UInt64
    public var hard: UInt64

    public init(resource: Resource, soft: UInt64, hard: UInt64) {
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }
}

extension Value {
    /// Reads `limit` or `soft:hard`, each of which is a number in the resource's unit or
    /// `infinity`.
    ///
    /// Sizes take K, M, G…; CPU takes a time span in seconds, RTTIME one in microseconds; NICE
    /// takes a nice level with its sign (`+5`, `-10`) or the kernel's number from 1 to 40.
    public func limitSetting(
        _ resource: LimitSetting.Resource
    ) throws(ValueError) -> LimitSetting {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2 else {
            throw ValueError(message: "'\(shown)' is not a limit; write limit or soft:hard")
        }
        let soft = try limit(resource, part(parts[0]))
        var hard = soft
        if parts.count == 2 {
            do throws(ValueError) { hard = try limit(resource, part(parts[1])) } catch {
                throw ValueError(
                    offset: parts[0].utf8.count + 1 + error.offset, message: error.message)
            }
        }
        guard soft <= hard else {
            throw ValueError(message: "the soft limit of '\(shown)' is above the hard one")
        }
        return LimitSetting(resource: resource, soft: soft, hard: hard)
    }

    private func part(_ text: Substring) -> Value {
        Value(text: String(text), pieces: [Piece(offset: 0, position: position)])
    }

    private func limit(
        _ resource: LimitSetting.Resource, _ value: Value
    ) throws(ValueError) -> UInt64 {
        if value.text == "infinity" { return LimitSetting.infinity }
        switch resource {
        case .fileSize, .data, .stack, .core, .residentSet, .addressSpace, .lockedMemory,
            .messageQueues:
            return try value.bytes()
        case .openFiles, .processes, .locks, .pendingSignals, .realtimePriority:
            return UInt64(try value.integer(0...Int.max))
        case .cpu:
            let (seconds, attoseconds) = try value.duration().components
            // The kernel counts whole seconds, so the span is rounded up.
            return UInt64(seconds) + (attoseconds > 0 ? 1 : 0)
        case .realtimeTime:
            if isDigits(value.text.utf8) { return UInt64(try value.integer(0...Int.max)) }
            let (seconds, attoseconds) = try value.duration().components
            return UInt64(seconds) * 1_000_000 + UInt64(attoseconds) / 1_000_000_000_000
        case .nice:
            if value.text.hasPrefix("+") || value.text.hasPrefix("-") {
                return UInt64(20 - (try value.integer(-20...19)))
            }
            return UInt64(try value.integer(0...40))
        }
    }
}
