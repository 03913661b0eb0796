internal import CGreenroomLinux
internal import Glibc

/// A system call that failed: the call, its subject, and the reason.
///
/// Errors that only mistakes in our code can cause (`EBADF`, `EFAULT`) are never thrown: they trap
/// in ``systemCall(_:on:_:)``.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The value of `errno`.
    public let code: CInt
    /// The name of the call's man page.
    public let call: String
    /// The path or name that the call was made for, if there is one.
    public let subject: String?

    public init(code: CInt, call: String, subject: String? = nil) {
        self.code = code
        self.call = call
        self.subject = subject
    }

    /// The symbol of ``code``, such as `ENOENT`.
    public var name: String { Self.name(of: code) }

    public var description: String {
        let what = subject.map { "\(call) \($0)" } ?? call
        let why = "\(what): \(Self.text(of: code)) (\(name))"
        return remedy.map { "\(why); \($0)" } ?? why
    }

    /// Whether the other end of a socket is gone.
    public var isDisconnection: Bool {
        code == EPIPE || code == ECONNRESET || code == ENOTCONN || code == ECONNREFUSED
    }

    /// What the reader of the message can do about it, if that does not depend on the call.
    private var remedy: String? {
        switch code {
        case EMFILE: "raise LimitNOFILE= of this service"
        case ENFILE: "raise the sysctl fs.file-max"
        case EAGAIN where call.hasPrefix("clone"):
            "raise TasksMax= of this service or the user's limit of processes"
        case ENOSPC where call == "inotify_add_watch": "raise fs.inotify.max_user_watches"
        case EADDRINUSE: "another process listens there: end it or choose another directory"
        case ENAMETOOLONG where call == "bind" || call == "connect":
            "a socket's path has at most 107 bytes: choose a shorter directory"
        default: nil
        }
    }

    /// The symbol of an error number (strerrorname_np).
    public static func name(of code: CInt) -> String {
        guard let text = unsafe gr_error_name(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }

    /// The C library's text for an error number, beginning in lower case (strerrordesc_np, which
    /// never translates and is safe in threads).
    public static func text(of code: CInt) -> String {
        guard let text = unsafe gr_error_text(code) else { return "unknown error \(code)" }
        let words = unsafe String(cString: text)
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

/// All system calls go through this function. It repeats a call after a signal (`EINTR`), traps on
/// mistakes in our code, and throws any other failure.
///
/// - Parameters:
///   - name: the call, for the message.
///   - subject: the path that the call is made for, evaluated only for an error.
///   - body: makes the call; -1 means that `errno` tells why it failed.
@discardableResult
@inline(__always)
func systemCall<Value: SignedInteger>(
    _ name: StaticString, on subject: @autoclosure () -> String? = nil, _ body: () -> Value
) throws(SystemError) -> Value {
    while true {
        let value = body()
        if value != -1 { return value }
        let code = errno
        if code == EINTR { continue }
        throw failed(name, subject(), code)
    }
}

/// Does the same as ``systemCall(_:on:_:)``; returns nil if the call would block (`EAGAIN`).
@inline(__always)
func systemCallUnlessBlocked<Value: SignedInteger>(
    _ name: StaticString, _ body: () -> Value
) throws(SystemError) -> Value? {
    while true {
        let value = body()
        if value != -1 { return value }
        let code = errno
        if code == EINTR { continue }
        if code == EAGAIN { return nil }
        throw failed(name, nil, code)
    }
}

@inline(never)
private func failed(_ name: StaticString, _ subject: String?, _ code: CInt) -> SystemError {
    precondition(code != EBADF && code != EFAULT, "\(name): our mistake, error \(code)")
    return SystemError(code: code, call: "\(name)", subject: subject)
}
