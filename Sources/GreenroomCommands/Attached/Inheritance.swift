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
    /// The descriptors above 2 that are not close-on-exec, in order.
    let otherDescriptors: [CInt]
    private let state: InheritedState?

    private init() {
        closedDescriptors = (0...2).filter { fcntl($0, F_GETFD) < 0 }
        otherDescriptors = Self.inheritedDescriptors()
        state = InheritedState.own()
    }

    /// The inherited descriptors. This process has opened none of its own yet, or only
    /// close-on-exec ones.
    private static func inheritedDescriptors() -> [CInt] {
        guard let directory = unsafe opendir("/proc/self/fd") else { return [] }
        defer { unsafe closedir(directory) }
        var numbers: [CInt] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe atoi($0) }
            }
            guard name > 2 else { continue }
            let flags = fcntl(name, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0 { numbers.append(name) }
        }
        return numbers.sorted()
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
