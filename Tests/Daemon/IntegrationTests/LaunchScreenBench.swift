import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// A daemon with an app that waits at a FIFO before it shows its window, and another that does
/// not wait.
final class LaunchScreenBench {
    static let (slow, quick) = ("org.example.slow", "org.example.quick")
    static let foreign = "org.example.foreign"
    static let color: UInt32 = 0x1d3557
    static let screenName = "Launch screen"
    /// How long a screen may take to be removed, in milliseconds. After 10 seconds, a screen
    /// disappears by itself.
    static let removalPatience: Int32 = 7000

    let folder: TemporaryDirectory
    let daemon: TestDaemon
    private(set) var presenter: ChildProcess
    private let display: [String]
    private let user: Int32?

    /// - Parameter show: the command that shows a window, without the window's name.
    init(
        _ display: [String], show: String, user: Int32? = nil, screen: String? = nil,
        lines: [String] = [], hasForeign: Bool = false, silent: String? = nil
    ) throws {
        (self.display, self.user) = (display, user)
        folder = try TemporaryDirectory()
        chmod(folder.path, 0o755)
        for name in ["gate", "quick-gate"] {
            #expect(mkfifo(folder.path + "/" + name, 0o666) == 0)
            chmod(folder.path + "/" + name, 0o666)
        }
        let file = try folder.write(
            screen ?? "[LaunchScreen]\nName=Slow\nColor=#1d3557\n", to: "app.screen")
        let gate = folder.path + "/gate"
        var apps = [
            TestApp(Self.slow, exec: "/bin/sh -c 'read x <\(gate); exec \(show) one'"),
            TestApp(Self.quick, exec: "\(show) two"),
        ]
        for index in apps.indices {
            apps[index].lines = display.map { "Environment=\($0)" } + lines
            if let user { apps[index].lines.append("User=\(user)") }
            apps[index].prewarmLines = ["[LaunchScreen]", "Default=\(file)"]
        }
        if hasForeign {
            var app = TestApp(Self.foreign, exec: "/bin/sh -c 'read x <\(gate)'")
            app.lines = ["User=\(windowUser)"]
            app.prewarmLines = apps[0].prewarmLines
            apps.append(app)
        }
        daemon = try TestDaemon(apps)
        presenter = try Self.present(
            daemon, display, user, complaints: folder.path + "/said", silent: silent)
    }

    deinit { presenter.kill(SIGKILL) }

    /// Starts the program. Returns when no later launch can be missed.
    private static func present(
        _ daemon: TestDaemon, _ display: [String], _ user: Int32?, complaints: String,
        silent: String?
    ) throws -> ChildProcess {
        let program = try Programs.built("greenroom-launchscreen")
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o755)
        let ready = try DatagramSocket(boundAt: folder.path + "/ready", mode: 0o666)
        var request = ChildRequest(
            program,
            arguments: [program]
                + [daemon.socketPath, silent].compactMap(\.self).flatMap { ["--socket", $0] },
            environment: display + [
                "SWIFT_BACKTRACE=enable=no", "NOTIFY_SOCKET=\(folder.path)/ready",
            ])
        request.user = user
        let file = open(complaints, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        defer { close(file) }
        request.descriptors[2] = file
        let process = try ChildProcess(request)
        guard try ready.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("greenroom-launchscreen does not start")
        }
        return process
    }

    /// The lines that the program has said.
    func complaints() throws -> [Substring] {
        String(decoding: try readFile(folder.path + "/said"), as: UTF8.self).split(
            separator: "\n")
    }

    /// Writes an icon of one colour, with that many pixels on each side.
    func writeIcon(_ name: String, side: Int, _ color: [UInt8]) {
        let icon =
            Array("P7\nWIDTH \(side)\nHEIGHT \(side)\nDEPTH 3\nMAXVAL 255\nENDHDR\n".utf8)
            + Array(repeating: color, count: side * side).joined()
        let file = open(folder.path + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        #expect(write(file, icon, icon.count) == icon.count)
        close(file)
    }

    func openGate() { close(open(folder.path + "/gate", O_WRONLY)) }
}

/// The same on an X server.
final class LaunchScreenXBench {
    let screen: Screen
    let bench: LaunchScreenBench
    var daemon: TestDaemon { bench.daemon }

    /// - Parameters:
    ///   - hasForeign: whether another user has an app too.
    ///   - silent: the path of a daemon that does not answer.
    init(
        screen text: String? = nil, lines: [String] = [], hasForeign: Bool = false,
        silent: String? = nil
    ) throws {
        screen = try Screen()
        bench = try LaunchScreenBench(
            ["DISPLAY=\(screen.display)"], show: try Screen.probe() + " xlib", screen: text,
            lines: lines, hasForeign: hasForeign, silent: silent)
    }

    func awaitWindows(_ names: [String]) throws {
        var seen: [String] = []
        let isShown = names.contains(LaunchScreenBench.screenName)
        for _ in 0..<(isShown ? Patience.milliseconds : LaunchScreenBench.removalPatience) / 20 {
            seen = try screen.windows()
            if seen == names { return }
            poll(nil, 0, 20)
        }
        throw TestError("the windows are \(seen), not \(names)")
    }

    /// Whether this is the only window within several times the delay of a screen.
    func shows(_ name: String) throws -> Bool {
        for _ in 0..<100 {
            if try screen.windows() == [name] { return true }
            poll(nil, 0, 20)
        }
        return false
    }

    /// Whether these remain the only windows for several times the delay of a screen.
    func remain(_ names: [String]) throws -> Bool {
        for _ in 0..<20 {
            if try screen.windows() != names { return false }
            poll(nil, 0, 20)
        }
        return true
    }

    func awaitPixel(_ x: Int, _ y: Int, is color: UInt32) throws {
        var seen: UInt32 = 0
        for _ in 0..<(color == 0 ? LaunchScreenBench.removalPatience : Patience.milliseconds) / 20 {
            seen = try pixel(x, y)
            if seen == color { return }
            poll(nil, 0, 20)
        }
        throw TestError("the pixel at \(x), \(y) is \(String(seen, radix: 16))")
    }

    /// A pixel of a picture in xwd(1)'s format, whose header consists of big-endian words.
    func pixel(_ x: Int, _ y: Int) throws -> UInt32 {
        let picture = try screen.picture()
        func word(_ number: Int) -> Int {
            picture[number * 4..<number * 4 + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        let at = word(0) + word(19) * 12 + y * word(12) + x * 4
        return UInt32(picture[at]) | UInt32(picture[at + 1]) << 8 | UInt32(picture[at + 2])
            << 16
    }
}
