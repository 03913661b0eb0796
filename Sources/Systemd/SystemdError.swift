import Glibc

/// A failed call of libsystemd.
///
/// libsystemd returns a negative errno; `errno` here is positive, as in errno(3).
public struct SystemdError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The C function, named as its man page.
    public var call: String
    public var errno: CInt

    public init(call: String, errno: CInt) {
        self.call = call
        self.errno = errno
    }

    public var description: String { "\(call): \(Self.text(of: errno))" }

    static func text(of errno: CInt) -> String {
        // strerrordesc_np(3) is thread-safe and not translated, but exists only in glibc.
        // strerror(3) is thread-safe since glibc 2.32.
        guard let text = unsafe strerror(errno) else { return "errno \(errno)" }
        return unsafe String(cString: text)
    }
}

/// All calls that return a negative errno go through this function.
@discardableResult
func check(_ call: StaticString, _ result: CInt) throws(SystemdError) -> CInt {
    guard result < 0 else { return result }
    // A descriptor that is not open, or an invalid pointer, is a bug of this program.
    precondition(result != -EBADF && result != -EFAULT, "\(call): \(result)")
    throw SystemdError(call: "\(call)", errno: -result)
}
