import Glibc
import GreenroomControl

/// Why an app cannot take over what this process has.
enum InheritanceError: Error {
    /// This many descriptors are open in addition to the standard ones.
    case tooManyDescriptors(Int)
    /// The working directory cannot be opened, for this `errno`.
    case directory(CInt)
}

extension Control.LaunchCall {
    /// Puts into the call what an attached app takes over from this process: environment, umask,
    /// directory, descriptors and the state that execve(2) preserves.
    ///
    /// - Parameter replacement: the descriptor that the app gets instead of a standard one; nil for
    ///   the caller's own.
    /// - Returns: the descriptors to send with the call.
    mutating func attach(
        _ inheritance: Inheritance, replacement: (CInt) -> CInt? = { _ in nil }
    ) throws(InheritanceError) -> [CInt] {
        isAttached = true
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
            if let replacement = replacement(number) {
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

    /// O_PATH (open(2)), which the C library's module hides; the same on x86-64 and aarch64.
    private static let pathOnly: CInt = 0o10000000
}
