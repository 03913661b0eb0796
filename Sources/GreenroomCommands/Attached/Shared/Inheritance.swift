import Glibc
import GreenroomControl
import GreenroomLinux

/// What this process has inherited from its caller, read before it changes any of it. This takes
/// about a hundred system calls, 10 to 20 µs.
struct Inheritance {
    /// Read at the first use, which must come before this process opens, blocks or closes anything.
    static let own = Inheritance()

    /// The standard descriptors (0, 1 and 2) that are closed.
    let closedDescriptors: [CInt]
    /// The descriptors above 2 that are not close-on-exec, in order: as many as can be passed. This
    /// process has opened none of its own yet, or only close-on-exec ones.
    let otherDescriptors: [CInt]
    /// How many there are.
    let otherDescriptorCount: Int
    private var state: InheritedState?

    private init() {
        closedDescriptors = Self.closedStandardDescriptors
        (otherDescriptors, otherDescriptorCount) = InheritedState.descriptors(
            limit: Control.LaunchCall.otherDescriptorLimit)
        state = InheritedState.own()
    }

    static var closedStandardDescriptors: [CInt] { (0...2).filter { fcntl($0, F_GETFD) < 0 } }

    /// The signals that this process's caller has blocked.
    var blockedSignals: UInt64 { state?.blockedSignals ?? 0 }

    /// The same with other blocked signals.
    func with(blockedSignals: UInt64) -> Inheritance {
        var copy = self
        copy.state?.blockedSignals = blockedSignals
        return copy
    }

    /// The forwarded signals that this process's caller has not ignored (nohup(1), `&` in a
    /// script), and the signals about this process as a job of the user's shell.
    var watchedSignals: [CInt] {
        let ignored = state?.ignoredSignals ?? 0
        return (Caller.forwardedSignals + [SIGTSTP]).filter {
            ignored >> UInt64($0 - 1) & 1 == 0
        } + [SIGCONT, SIGWINCH]
    }

    var callerState: Control.CallerState? {
        guard let state else { return nil }
        var claims = Control.CallerState()
        claims.limits = state.limits.flatMap {
            [Int64(bitPattern: $0.soft), Int64(bitPattern: $0.hard)]
        }
        guard claims.limits.allSatisfy({ $0 >= -1 }) else { return nil }
        claims.nice = state.nice
        claims.ioPriority = state.ioPriority
        claims.affinity = state.affinity.flatMap {
            [UInt32(truncatingIfNeeded: $0), UInt32(truncatingIfNeeded: $0 >> 32)]
        }
        while claims.affinity.last == 0 { claims.affinity.removeLast() }
        claims.ignoredSignals = Self.numbers(of: state.ignoredSignals)
        claims.blockedSignals = Self.numbers(of: state.blockedSignals)
        claims.personality = state.personality
        claims.noNewPrivileges = state.noNewPrivileges
        return claims
    }

    private static func numbers(of signals: UInt64) -> [Int] {
        signals == 0 ? [] : (1...64).filter { signals >> UInt64($0 - 1) & 1 != 0 }
    }
}
