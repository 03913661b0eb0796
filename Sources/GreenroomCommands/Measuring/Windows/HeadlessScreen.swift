import AppFolders
import Glibc
import GreenroomLinux

/// An X server without a device (Xvfb(1)). Its screen is a file, so what is on it is seen without a
/// client. Only clients that have its secret may connect (Xsecurity(7)): another user could otherwise
/// type into programs that run as this one.
@safe final class HeadlessScreen {
    static let program = "Xvfb"
    let variables: [String]
    private let process: pid_t
    private let memory: UnsafeRawBufferPointer

    /// Writes the file with its secret.
    static func configure(in folder: String) throws(SystemError) {
        try AppFolderChange.write(secret(), to: authority(in: folder))
    }

    private static func authority(in folder: String) -> String { folder + "/authority" }

    /// - Parameters:
    ///   - prefix: words before the program's: it parses what programs send, so it runs as their
    ///     user.
    ///   - folder: a folder that only that user can enter.
    init(_ program: String, _ prefix: [String], in folder: String) throws(SystemError) {
        let authority = Self.authority(in: folder)
        let words = prefix + [program]
        let pipe = try FileDescriptor.pipe()
        process = try MeasuredProcess.spawn(
            words[0],
            words + [
                "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp",
                "-noreset", "-auth", authority, "-fbdir", folder,
            ], environment: ["PATH=/usr/bin:/bin"], pipe: pipe.writing.rawValue)
        close(pipe.writing.release())
        var number = ""
        var byte: UInt8 = 0
        while true {
            guard try pipe.reading.waitUntilReadable(milliseconds: Self.startMilliseconds),
                unsafe read(pipe.reading.rawValue, &byte, 1) == 1
            else {
                kill(process, SIGKILL)
                throw SystemError(code: ETIMEDOUT, call: "starting an X server", subject: program)
            }
            if byte == UInt8(ascii: "\n") { break }
            number.unicodeScalars.append(Unicode.Scalar(byte))
        }
        variables = ["DISPLAY=:\(number)", "XAUTHORITY=\(authority)", "WAYLAND_DISPLAY="]
        unsafe memory = try Self.map(folder + "/Xvfb_screen0")
    }

    private static let startMilliseconds: CInt = 20_000

    deinit {
        unsafe _ = munmap(UnsafeMutableRawPointer(mutating: memory.baseAddress), memory.count)
        kill(process, SIGKILL)
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    private static func map(_ path: String) throws(SystemError) -> UnsafeRawBufferPointer {
        let file = try FileDescriptor.open(
            path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        let size = Int(lseek(file.rawValue, 0, SEEK_END))
        let place = unsafe mmap(nil, max(size, 1), PROT_READ, MAP_SHARED, file.rawValue, 0)
        guard size > 0, unsafe place != MAP_FAILED else {
            throw SystemError(code: errno, call: "mmap", subject: path)
        }
        return unsafe UnsafeRawBufferPointer(start: place, count: size)
    }

    /// One entry, for every display (FamilyWild): MIT-MAGIC-COOKIE-1 with 16 random bytes. Numbers
    /// have two bytes, the higher one first (XauFileName(3)).
    private static func secret() -> [UInt8] {
        let name = Array("MIT-MAGIC-COOKIE-1".utf8)
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return [0xff, 0xff, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, 16] + secret
    }

    // MARK: What is on it

    /// What is compared at once, and how many such parts the pointer's shape covers at most: two for
    /// each of its lines. A window covers more.
    private static let partByteCount = 4096
    private static let pointerPartCount = 64

    func picture() -> [UInt8] { unsafe [UInt8](memory) }

    /// Whether a window is seen that the picture does not have, or the other way round.
    func differs(from picture: [UInt8]) -> Bool {
        var count = 0
        return unsafe picture.withUnsafeBytes { former in
            for start in stride(from: 0, to: unsafe memory.count, by: Self.partByteCount) {
                let size = unsafe min(Self.partByteCount, memory.count - start)
                let isSame =
                    unsafe memcmp(
                        memory.baseAddress! + start, former.baseAddress! + start, size) == 0
                if !isSame { count += 1 }
                if count > Self.pointerPartCount { return true }
            }
            return false
        }
    }
}
