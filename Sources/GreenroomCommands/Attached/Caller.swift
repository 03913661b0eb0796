import Glibc
import GreenroomControl
import GreenroomLinux

/// What an attached app takes over from this process.
enum Caller {
    static let forwardedSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]
    /// The forwarded signals that this process's caller has not ignored (nohup(1), `&` in a
    /// script), and the signals about this process as a job of the user's shell.
    static var watchedSignals: [CInt] {
        (forwardedSignals + [SIGTSTP]).filter { !SignalDescriptor.isIgnored($0) } + [
            SIGCONT, SIGWINCH,
        ]
    }

    /// Puts this process's environment, umask, directory and standard descriptors into the call.
    /// - Returns: the descriptors to send with it. They stay open until the process ends, so that
    ///   the call can be repeated.
    static func attach(
        to call: inout Control.LaunchCall, _ terminal: AppTerminal?, _ inheritance: Inheritance
    ) throws(Failure) -> [CInt] {
        call.isAttached = true
        call.callerEnvironment = byteEnvironment()
        // umask(2) can only be read by setting it, which is safe because this process has one
        // thread.
        let mask = umask(0)
        umask(mask)
        call.umask = mask
        var descriptors: [CInt] = []
        func add(_ descriptor: CInt) -> Int {
            descriptors.append(descriptor)
            return descriptors.count - 1
        }
        func stream(_ number: CInt) -> Int? {
            if let terminal, terminal.plan.replaced.contains(number) {
                return add(terminal.descriptor ?? number)
            }
            if inheritance.closedDescriptors.contains(number) {
                call.closedDescriptors.append(Int(number))
                return nil
            }
            return add(number)
        }
        call.standardInput = stream(0)
        call.standardOutput = stream(1)
        call.standardError = stream(2)
        call.takesTerminal = terminal != nil
        call.callerState = inheritance.callerState
        let others = inheritance.otherDescriptors
        guard others.count <= Control.LaunchCall.otherDescriptorLimit else {
            throw .system(
                SystemError(
                    code: E2BIG, call: "passing descriptors",
                    subject: "\(others.count) are open beside the standard ones and at most "
                        + "\(Control.LaunchCall.otherDescriptorLimit) can be passed; close some"))
        }
        for number in others {
            call.otherDescriptors.append(.init(number: number, index: add(number)))
        }
        do throws(SystemError) {
            // Through this link, this process can also open a directory that it may neither read
            // nor enter again.
            let directory = try FileDescriptor.open(
                "/proc/self/cwd", FileDescriptor.pathOnly | O_DIRECTORY)
            call.workingDirectoryDescriptor = add(directory.release())
        } catch {
            // Without /proc, the directory is passed by its name.
            call.workingDirectory = currentPath()
            guard call.workingDirectory != nil else { throw .system(error) }
        }
        return descriptors
    }

    /// Opens `/dev/null` in place of each closed standard descriptor. Otherwise the next file to be
    /// opened, the connection to the daemon, would become the app's input.
    static func fillStandardDescriptors() {
        while case let descriptor = unsafe open("/dev/null", O_RDWR), descriptor >= 0 {
            if descriptor > 2 {
                close(descriptor)
                return
            }
        }
    }

    /// The environment (environ(7)).
    static func byteEnvironment() -> [ByteString] {
        var variables: [ByteString] = []
        var next = unsafe environ
        while let text = unsafe next.pointee {
            variables.append(unsafe ByteString(cString: text))
            unsafe next += 1
        }
        return variables
    }

    /// The environment without variables that are not UTF-8.
    static func environment() -> [String] { byteEnvironment().compactMap(\.text) }

    /// Whether this process may enter its working directory again. It may be in a directory that it
    /// may not enter any more.
    static var mayEnterDirectory: Bool { unsafe access(".", X_OK) == 0 || errno != EACCES }

    static func currentPath() -> String? {
        currentDirectory().flatMap { String(validating: $0, as: UTF8.self) }
    }

    static func currentDirectory() -> [UInt8]? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe ByteString(cString: path).bytes
    }
}
