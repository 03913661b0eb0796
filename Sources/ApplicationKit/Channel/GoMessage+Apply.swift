internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// A part of a launch that the kernel refused.
struct ApplyError: Error {
    /// errno(3).
    var code: CInt
}

extension GoMessage {
    /// Gives this process what the launch orders: its descriptors, session, working directory,
    /// umask, environment and arguments.
    func apply(_ descriptors: [CInt], except channel: CInt) throws(ApplyError) {
        try place(descriptors, except: channel)
        if flags.contains(.newSession) { setsid() }
        if flags.contains(.controllingTerminal) {
            let failure = cak_take_terminal()
            if failure != 0 { throw ApplyError(code: failure) }
        }
        if let umask { Glibc.umask(mode_t(umask)) }
        // (An empty list still needs an address, hence the extra byte.)
        let failure = unsafe (environment.bytes + [0]).withUnsafeBytes {
            unsafe cak_set_environment(
                $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count - 1,
                environment.count)
        }
        if failure != 0 { throw ApplyError(code: failure) }
        let otherFailure = unsafe arguments.bytes.withUnsafeBytes {
            unsafe cak_set_arguments(
                $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count, arguments.count,
                flags.contains(.setCommandLine))
        }
        if otherFailure != 0 { throw ApplyError(code: otherFailure) }
    }

    private func check(_ result: CInt) throws(ApplyError) {
        if result < 0 { throw ApplyError(code: errno) }
    }

    /// Puts each received descriptor in its place. The kernel gave them the lowest free numbers,
    /// which may be the places of others, and a dup2(2) to a place closes what is there. So all of
    /// them first move above the highest place.
    private func place(_ descriptors: [CInt], except channel: CInt) throws(ApplyError) {
        var highest: CInt = 2
        for case .place(let target) in roles {
            if target == channel { throw ApplyError(code: EPROTO) }
            highest = max(highest, target)
        }
        var aside: [CInt] = []
        for descriptor in descriptors {
            let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, highest + 1)
            try check(moved)
            close(descriptor)
            aside.append(moved)
        }
        for (role, aside) in zip(roles, aside) {
            defer { close(aside) }
            switch role {
            case .place(let target): try check(dup2(aside, target))
            case .workingDirectory: try enter(aside)
            }
        }
    }

    private func enter(_ directory: CInt) throws(ApplyError) {
        guard flags.contains(.directoryByName) else { return try check(fchdir(directory)) }
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/fd/\(directory)", &path, path.count)
        try check(CInt(clamping: count))
        if count == path.count { throw ApplyError(code: ENAMETOOLONG) }
        path[count] = 0
        try check(unsafe chdir(path))
    }
}
