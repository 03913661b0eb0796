internal import CGreenroomLinux

/// What a process inherits across exec, besides strings, descriptors, directory and umask.
public struct InheritedState: Hashable, Sendable {
    public struct Limit: Hashable, Sendable {
        /// ``ResourceLimit/unlimited`` means no limit.
        public var soft: UInt64
        public var hard: UInt64

        public init(soft: UInt64, hard: UInt64) {
            self.soft = soft
            self.hard = hard
        }
    }

    /// The limits, by the kernel's number of the resource (getrlimit(2)); empty if all limits stay
    /// as they are.
    public var limits: [Limit] = []
    /// One bit for each resource whose soft limit is not raised, because the manifest sets it.
    public var fixedLimits: UInt32 = 0
    /// The priority of setpriority(2).
    public var nice: Int32 = 0
    /// The priority of ioprio_set(2); 0 means none.
    public var ioPriority: UInt32 = 0
    /// One bit for each CPU to run on; empty if the CPUs stay as they are.
    public var affinity: [UInt64] = []
    /// One bit for each ignored signal; signal 1 has the lowest bit.
    public var ignoredSignals: UInt64 = 0
    public var blockedSignals: UInt64 = 0
    /// The execution domain of personality(2); 0 is Linux.
    public var personality: UInt32 = 0
    public var noNewPrivileges = false
    /// One bit for each of the descriptors 0, 1 and 2: set if it is closed.
    public var closedDescriptors: UInt32 = 0

    public static let limitCount = Int(GR_LIMITS)
    static let affinityWordCount = Int(GR_AFFINITY_WORDS)

    public init() {}

    /// The state of this process; nil if it cannot be read.
    public static func own() -> InheritedState? {
        var state = gr_inherited()
        return unsafe gr_observe_self(&state) == 0 ? InheritedState(state) : nil
    }

    /// The descriptors above 2 of this process that are not close-on-exec, in order.
    ///
    /// - Parameter limit: at most this many are returned; `count` is the number that exist.
    public static func descriptors(limit: Int) -> (numbers: [Int32], count: Int) {
        var numbers = [Int32](repeating: 0, count: limit)
        let count = unsafe numbers.withUnsafeMutableBufferPointer {
            unsafe Int(gr_inherited_descriptors($0.baseAddress!, Int32(limit)))
        }
        // Without /proc, they cannot be found.
        guard count > 0 else { return ([], 0) }
        return (numbers.prefix(count).sorted(), count)
    }

    init(_ state: gr_inherited) {
        var state = state
        limits = unsafe withUnsafeBytes(of: &state.limits) { bytes in
            unsafe bytes.bindMemory(to: UInt64.self).withMemoryRebound(to: Limit.self) {
                unsafe Array($0)
            }
        }
        affinity = unsafe withUnsafeBytes(of: &state.affinity) {
            unsafe Array($0.bindMemory(to: UInt64.self))
        }
        nice = state.nice
        ioPriority = state.io_priority
        ignoredSignals = state.ignored
        blockedSignals = state.blocked
        personality = state.personality
        noNewPrivileges = state.parts & GR_INHERITED_NO_NEW_PRIVILEGES.rawValue != 0
    }

    /// The bytes of a `struct gr_inherited`.
    ///
    /// - Parameter atPause: whether to leave out what only an exec can change.
    public func encoded(atPause: Bool) -> [UInt8] {
        var state = gr_inherited()
        if limits.count == Self.limitCount {
            state.parts |= GR_INHERITED_LIMITS.rawValue
            unsafe withUnsafeMutableBytes(of: &state.limits) { bytes in
                for (index, limit) in limits.enumerated() {
                    unsafe bytes.storeBytes(
                        of: limit.soft, toByteOffset: 16 * index, as: UInt64.self)
                    unsafe bytes.storeBytes(
                        of: limit.hard, toByteOffset: 16 * index + 8, as: UInt64.self)
                }
            }
        }
        if !affinity.isEmpty {
            state.parts |= GR_INHERITED_AFFINITY.rawValue
            unsafe withUnsafeMutableBytes(of: &state.affinity) { bytes in
                for (index, word) in affinity.prefix(Self.affinityWordCount).enumerated() {
                    unsafe bytes.storeBytes(of: word, toByteOffset: 8 * index, as: UInt64.self)
                }
            }
        }
        if noNewPrivileges { state.parts |= GR_INHERITED_NO_NEW_PRIVILEGES.rawValue }
        if !atPause, personality != 0 { state.parts |= GR_INHERITED_PERSONALITY.rawValue }
        state.personality = atPause ? 0 : personality
        state.closed = closedDescriptors
        state.fixed_limits = fixedLimits
        state.nice = nice
        state.io_priority = ioPriority
        state.ignored = ignoredSignals
        state.blocked = blockedSignals
        return unsafe withUnsafeBytes(of: &state) { unsafe Array($0) }
    }
}
