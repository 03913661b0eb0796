import AppFolders
import Glibc
import GreenroomLinux

/// An X server without a device (Xvfb(1)). Its screen is a file, so what is on it is seen without a
/// client. Only clients that have its secret may connect (Xsecurity(7)): another user could otherwise
/// type into programs that run as this one.
final class XScreen: HeadlessScreen {
    let variables: [String]
    private var empty: [UInt8] = []
    private let server: MeasuredServer
    /// The server owns this file and may make it shorter at any time. So the file is read and not
    /// mapped: a mapping that became too long would end this process (SIGBUS).
    private let file: FileDescriptor
    private let byteCount: Int

    /// 1280 times 1024 points of four bytes, and a header.
    private static let sizes = 1280 * 1024 * 4...16 << 20

    /// Writes the file with its secret.
    static func configure(in folder: String) throws(SystemError) {
        try AppFolderChange.write(secret(), to: authority(in: folder))
    }

    private static func authority(in folder: String) -> String { folder + "/authority" }

    /// - Parameters:
    ///   - prefix: words before the server's command, which run the server as the user of the
    ///     measured program, because it parses what that program sends.
    ///   - folder: a folder that only that user can enter.
    init(
        _ program: String, _ prefix: [String], in folder: String, clock: SampleClock
    ) throws(Failure) {
        let authority = Self.authority(in: folder)
        server = try MeasuredServer(
            prefix + [
                program, "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp",
                "-noreset", "-auth", authority, "-fbdir", folder,
            ], clock: clock)
        let number = server.line
        guard 1...5 ~= number.utf8.count, number.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw .system(SystemError(code: EPROTO, call: "starting", subject: program))
        }
        variables = [
            "DISPLAY=:\(number)", "XAUTHORITY=\(authority)", "WAYLAND_DISPLAY=", "GDK_BACKEND=x11",
            "QT_QPA_PLATFORM=xcb",
        ]
        (file, byteCount) = try Self.open(folder + "/Xvfb_screen0")
        empty = picture()
    }

    func end() { server.end() }

    private static func open(_ path: String) throws(Failure) -> (FileDescriptor, Int) {
        do throws(SystemError) {
            let file = try FileDescriptor.open(
                path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            var status = stat()
            guard unsafe fstat(file.rawValue, &status) == 0 else {
                throw SystemError(code: errno, call: "fstat", subject: path)
            }
            guard status.st_mode & S_IFMT == S_IFREG, sizes ~= Int(status.st_size) else {
                throw SystemError(code: EINVAL, call: "reading the screen", subject: path)
            }
            return (file, Int(status.st_size))
        } catch {
            throw .system(error)
        }
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

    /// How much is read at once.
    private static let readByteCount = 64 * PictureDifference.partByteCount

    /// Whatever the program draws, it draws in a window.
    func showsWindow() -> Bool { differs(from: empty) }

    func picture() -> [UInt8] {
        var picture = [UInt8](repeating: 0, count: byteCount)
        unsafe picture.withUnsafeMutableBytes { bytes in
            var start = 0
            while start < byteCount {
                let count = unsafe pread(
                    file.rawValue, bytes.baseAddress! + start, byteCount - start, off_t(start))
                guard count > 0 else { return }
                start += count
            }
        }
        return picture
    }

    func differs(from picture: [UInt8]) -> Bool {
        var part = [UInt8](repeating: 0, count: Self.readByteCount)
        var difference = PictureDifference()
        for start in stride(from: 0, to: byteCount, by: part.count) {
            let size = min(part.count, byteCount - start)
            // A screen that cannot be read to its end has changed.
            guard unsafe pread(file.rawValue, &part, size, off_t(start)) == size else {
                return true
            }
            difference.add(part[..<size], picture[start..<(start + size)])
            if difference.isSeen { return true }
        }
        return false
    }
}
