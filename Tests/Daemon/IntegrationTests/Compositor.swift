import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// The test's own Wayland compositor (sway(1), which does not run as root), and a client that asks
/// it for its windows.
final class Compositor {
    static let display = "wayland-1"
    let folder: TemporaryDirectory
    private let server: ChildProcess

    private static let flags = ["-D_GNU_SOURCE", "-l:libwayland-client.so.0"]

    static func probe() throws -> String {
        try requireOrSkip(
            findLibrary("libwayland-client.so.0"),
            "no libwayland-client: apt-get install libwayland-client0")
        return try compileProbe("toplevels.c", with: ProbeCompiler("clang", flags))
    }

    /// The same as a plug-in: see `compilePlugIn`.
    static func plugIn() throws -> String { try compilePlugIn("toplevels.c", flags) }

    /// - Parameter isStrict: whether to use weston(1), which ends a client whose window does not
    ///   have the size that it was given. It cannot be asked for its windows.
    init(isStrict: Bool = false) throws {
        let name = isStrict ? "weston" : "sway"
        let program = findProgram(name)
        try requireOrSkip(program != nil, "no \(name): apt-get install \(name)")
        let changer = findProgram("setpriv")
        try requireOrSkip(changer != nil, "no setpriv: apt-get install util-linux")
        folder = try TemporaryDirectory()
        let user = uid_t(windowUser)
        guard chmod(folder.path, 0o700) == 0, chown(folder.path, user, user) == 0 else {
            throw TestError("chown \(folder.path): errno \(errno)")
        }
        let words =
            isStrict
            ? [
                "--backend=headless-backend.so", "--use-pixman", "--idle-time=0",
                "--socket=\(Self.display)",
            ] : ["--config", try folder.write("", to: "config")]
        var request = ChildRequest(
            changer!,
            arguments: [
                changer!, "--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", program!,
            ] + words,
            environment: [
                "PATH=/usr/bin:/bin", "HOME=\(folder.path)", "XDG_RUNTIME_DIR=\(folder.path)",
                "SWAYSOCK=\(folder.path)/ipc",
                "WLR_BACKENDS=headless", "WLR_RENDERER=pixman", "WLR_LIBINPUT_NO_DEVICES=1",
            ])
        request.directory = folder.path
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        for number in 0...2 as ClosedRange<Int32> { request.descriptors[number] = null }
        server = try ChildProcess(request)
        for _ in 0..<Patience.milliseconds / 20 {
            let isHere = access("\(folder.path)/\(Self.display)", F_OK) == 0
            if isHere, isStrict || (try? windows()) != nil { return }
            poll(nil, 0, 20)
        }
        throw TestError("\(name) did not start")
    }

    deinit { end() }

    func end() {
        server.kill(SIGKILL)
        _ = try? server.waitForExit()
    }

    /// Stops the compositor until `resume`.
    func stop() { server.kill(SIGSTOP) }
    func resume() { server.kill(SIGCONT) }

    /// The variables by which a program finds the compositor.
    var variables: [String] {
        ["WAYLAND_DISPLAY=\(Self.display)", "XDG_RUNTIME_DIR=\(folder.path)"]
    }

    private func request(_ word: String) throws -> ChildRequest {
        let probe = try Self.probe()
        return ChildRequest(probe, arguments: [probe, word], environment: variables)
    }

    /// The titles of all windows.
    func windows() throws -> Set<String> {
        let result = try run(try request("asks"))
        guard result.exit == .status(0) else { throw TestError("sway does not answer") }
        let text = String(decoding: result.output, as: UTF8.self)
        return Set(text.split(separator: "\n").map(String.init))
    }

    func watch() throws -> WindowWatch { try WindowWatch(try request("watch")) }

    /// Runs a program of the session's user.
    func client(_ name: String, package: String, _ words: [String]) throws -> ChildRequest {
        let program = findProgram(name)
        try requireOrSkip(program != nil, "no \(name): apt-get install \(package)")
        var request = ChildRequest(
            program!, arguments: [program!] + words,
            environment: variables + [
                "PATH=/usr/bin:/bin", "HOME=\(folder.path)", "SWAYSOCK=\(folder.path)/ipc",
            ])
        request.user = windowUser
        return request
    }

    /// Starts a client that shows windows as the words say.
    func show(_ words: [String]) throws -> ChildProcess {
        let probe = try Self.probe()
        return try ChildProcess(
            ChildRequest(probe, arguments: [probe] + words, environment: variables))
    }

    /// Carries out a command of sway(5).
    func tell(_ command: String) throws {
        let ended = try run(try client("swaymsg", package: "sway", [command]))
        guard ended.exit == .status(0) else { throw TestError("sway refuses \(command)") }
    }

    func picture(of output: String) throws -> OutputPicture {
        let words = ["-o", output, "-t", "ppm", "-"]
        return try OutputPicture(try run(try client("grim", package: "grim", words)).output)
    }
}

/// The picture that an output of a compositor shows, as grim(1) writes it.
struct OutputPicture {
    let width: Int
    let height: Int
    private let bytes: ArraySlice<UInt8>

    init(_ file: [UInt8]) throws {
        // The lines are a format, the sides, and the highest value of a colour.
        let lines = file.split(separator: UInt8(ascii: "\n"), maxSplits: 3)
        let sides = lines.count < 4 ? [] : lines[1].split(separator: UInt8(ascii: " "))
        let numbers = sides.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 2, lines[3].count == numbers[0] * numbers[1] * 3 else {
            throw TestError("grim has written no picture")
        }
        (width, height, bytes) = (numbers[0], numbers[1], lines[3])
    }

    /// The colour of a pixel: 0xRRGGBB.
    func pixel(_ x: Int, _ y: Int) -> UInt32 {
        bytes.dropFirst((y * width + x) * 3).prefix(3).reduce(0) { $0 << 8 | UInt32($1) }
    }

    var middle: UInt32 { pixel(width / 2, height / 2) }
}

/// Whether the dynamic linker finds the library.
func findLibrary(_ name: String) -> Bool {
    guard let library = dlopen(name, RTLD_LAZY) else { return false }
    dlclose(library)
    return true
}
