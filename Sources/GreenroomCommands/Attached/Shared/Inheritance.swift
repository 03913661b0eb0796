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
    /// How many such descriptors there are.
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

    /// The same inheritance with other blocked signals.
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

/// Why an app cannot take over what this process has.
enum InheritanceError: Error {
    /// This many descriptors are open in addition to the standard ones.
    case tooManyDescriptors(Int)
    /// The working directory cannot be opened, for this `errno`.
    case directory(CInt)
}

extension Control.LaunchCall {
    /// Puts into the call what an app takes over from this process: environment, umask, directory,
    /// descriptors and the state that execve(2) preserves. Only an attached app takes over the
    /// standard streams.
    ///
    /// - Parameter replacement: the descriptor that the app gets instead of a standard one; nil for
    ///   the caller's own.
    /// - Returns: the descriptors to send with the call.
    mutating func attach(
        _ inheritance: Inheritance, replacement: (CInt) -> CInt? = { _ in nil }
    ) throws(InheritanceError) -> [CInt] {
        callerEnvironment = Caller.byteEnvironment()
        // umask(2) can only be read by setting it, which is safe because this process has one
        // thread.
        let mask = Glibc.umask(0)
        _ = Glibc.umask(mask)
        umask = mask
        var descriptors: [CInt] = []
        func add(_ descriptor: CInt) -> Int {
            descriptors.append(descriptor)
            return descriptors.count - 1
        }
        var indexes: [Int?] = []
        for number: CInt in 0...2 {
            if !isAttached {
                indexes.append(nil)
            } else if let replacement = replacement(number) {
                indexes.append(add(replacement))
            } else if inheritance.closedDescriptors.contains(number) {
                closedDescriptors.append(Int(number))
                indexes.append(nil)
            } else {
                indexes.append(add(number))
            }
        }
        (standardInput, standardOutput, standardError) = (indexes[0], indexes[1], indexes[2])
        callerState = inheritance.callerState
        guard inheritance.otherDescriptorCount <= Self.otherDescriptorLimit else {
            throw .tooManyDescriptors(inheritance.otherDescriptorCount)
        }
        for number in inheritance.otherDescriptors {
            otherDescriptors.append(.init(number: number, index: add(number)))
        }
        var directory = unsafe open(".", Self.pathOnly | O_DIRECTORY | O_CLOEXEC)
        if directory < 0 {
            // Through this link, which takes longer, this process can also open a directory that it
            // may neither read nor enter again.
            directory = unsafe open("/proc/self/cwd", Self.pathOnly | O_DIRECTORY | O_CLOEXEC)
        }
        if directory >= 0 {
            workingDirectoryDescriptor = add(directory)
        } else {
            // Without /proc, the directory is passed by its name.
            let code = errno
            workingDirectory = Caller.currentDirectoryName?.text
            guard workingDirectory != nil else { throw .directory(code) }
        }
        return descriptors
    }

    /// O_PATH (open(2)), which the C library's module hides; the same on x86-64 and aarch64. (The same
    /// as `FileDescriptor.pathOnly`, which greenroom-run does not contain.)
    private static let pathOnly: CInt = 0o10000000
}
