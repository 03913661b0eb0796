import Glibc
import GreenroomControl

/// This process. An attached app runs as if this process's caller had started it.
enum Caller {
    static let forwardedSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]

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

    /// Whether this process may enter its working directory again. It may be in a directory that it
    /// may not enter any more.
    static var mayEnterDirectory: Bool { unsafe access(".", X_OK) == 0 || errno != EACCES }

    /// The working directory's path (getcwd(3)).
    static var currentDirectoryName: ByteString? {
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe ByteString(cString: path)
    }

    /// Replaces the set of blocked signals (sigprocmask(2)).
    ///
    /// - Parameter signals: bit N−1 stands for signal N.
    static func block(only signals: UInt64) {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in 1...CInt(64) where signals >> UInt64(signal - 1) & 1 != 0 {
            unsafe sigaddset(&set, signal)
        }
        unsafe sigprocmask(SIG_SETMASK, &set, nil)
    }

    /// Opens `/dev/null` in place of each closed standard descriptor. Otherwise the next file to be
    /// opened, the connection to the daemon, would become the app's input.
    static func fillStandardDescriptors() {
        // This reads which descriptors the caller has closed, so it comes before any is filled.
        _ = Inheritance.own
        while case let descriptor = unsafe open("/dev/null", O_RDWR), descriptor >= 0 {
            if descriptor > 2 {
                close(descriptor)
                return
            }
        }
    }

    /// The environment without variables that are not UTF-8.
    static func environment() -> [String] { byteEnvironment().compactMap { $0.text } }

    static func currentPath() -> String? {
        currentDirectoryName?.text
    }

    static func currentDirectory() -> [UInt8]? { currentDirectoryName?.bytes }
}

extension ByteString {
    init(cString: UnsafePointer<CChar>) {
        if let text = unsafe String(validatingCString: cString) {
            self = .text(text)
        } else {
            self = unsafe .bytes(
                UnsafeBufferPointer(start: cString, count: strlen(cString)).map(
                    UInt8.init(bitPattern:)))
        }
    }

    /// A copy that the caller must free (malloc(3)).
    var copiedCString: UnsafeMutablePointer<CChar>? {
        let bytes = bytes
        guard let copy = unsafe malloc(bytes.count + 1) else { return nil }
        let text = unsafe copy.bindMemory(to: CChar.self, capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { unsafe text[index] = CChar(bitPattern: byte) }
        unsafe text[bytes.count] = 0
        return unsafe text
    }
}
