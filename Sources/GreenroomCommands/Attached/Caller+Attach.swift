import Glibc
import GreenroomControl
import GreenroomLinux

extension Control.LaunchCall {
    /// Puts into the call what an attached app takes over from this process.
    /// - Returns: the descriptors to send with it. They stay open until the process ends, so that
    ///   the call can be repeated.
    mutating func attach(
        _ terminal: AppTerminal?, _ inheritance: Inheritance
    ) throws(Failure) -> [CInt] {
        takesTerminal = terminal != nil
        do throws(InheritanceError) {
            return try attach(inheritance) { number in
                guard let terminal, terminal.plan.replaced.contains(number) else { return nil }
                return terminal.descriptor
            }
        } catch {
            throw .system(error.systemError)
        }
    }
}

extension InheritanceError {
    fileprivate var systemError: SystemError {
        switch self {
        case .tooManyDescriptors(let count):
            SystemError(
                code: E2BIG, call: "passing descriptors",
                subject: "\(count) are open beside the standard ones and at most "
                    + "\(Control.LaunchCall.otherDescriptorLimit) can be passed; close some")
        case .directory(let code): SystemError(code: code, call: "open", subject: "/proc/self/cwd")
        }
    }
}

extension Caller {
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

    /// The environment without variables that are not UTF-8.
    static func environment() -> [String] { byteEnvironment().compactMap(\.text) }

    static func currentPath() -> String? {
        currentDirectoryName?.text
    }

    static func currentDirectory() -> [UInt8]? { currentDirectoryName?.bytes }
}
