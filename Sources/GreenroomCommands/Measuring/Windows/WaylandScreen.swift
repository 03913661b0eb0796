import AppFolders
import Glibc
import GreenroomLinux
import Varlink

/// A Wayland compositor without a device (sway(1)). It reports its windows itself, and grim(1)
/// reads its picture. Both sockets are in a folder that only the user of the program can enter.
final class WaylandScreen: HeadlessScreen {
    let variables: [String]
    private let server: MeasuredServer
    private let events: MeasuredServer
    private let grim: [String]
    private let runtime: String
    private let clock: SampleClock

    private static func configuration(in folder: String) -> String { folder + "/sway.conf" }

    /// Writes the file that the compositor executes when it starts. It has started when it prints
    /// its display's name.
    static func configure(in folder: String) throws(SystemError) {
        let text = """
            xwayland disable
            swaynag_command -
            exec echo "$WAYLAND_DISPLAY"

            """
        try AppFolderChange.write(Array(text.utf8), to: configuration(in: folder))
    }

    /// - Parameters:
    /// - paths: the paths of the programs of `ScreenKind.wayland`.
    /// - prefix: words before the commands of these programs. They parse what the measured program
    ///   sends, so they run as its user.
    ///   - runtime: the user's folder in `folder`, where programs look for the socket.
    init(
        _ paths: [String], _ prefix: [String], in folder: String, runtime: String,
        clock: SampleClock
    ) throws(Failure) {
        self.runtime = runtime
        self.clock = clock
        grim = prefix + [paths[2], "-t", "ppm", "-"]
        let socket = runtime + "/sway"
        // Without the option, sway does not start where the proprietary driver of Nvidia is loaded,
        // though it uses no graphics card here.
        server = try MeasuredServer(
            prefix + [paths[0], "--unsupported-gpu", "--config", Self.configuration(in: folder)],
            [
                "HOME=\(folder)/home", "XDG_RUNTIME_DIR=\(runtime)", "SWAYSOCK=\(socket)",
                "WLR_BACKENDS=headless", "WLR_RENDERER=pixman", "WLR_LIBINPUT_NO_DEVICES=1",
            ], clock: clock)
        let display = server.line
        guard 1...32 ~= display.utf8.count, !display.contains("/") else {
            server.end()
            throw .system(SystemError(code: EPROTO, call: "starting", subject: paths[0]))
        }
        variables = [
            "WAYLAND_DISPLAY=\(display)", "DISPLAY=", "XAUTHORITY=", "GDK_BACKEND=wayland",
            "QT_QPA_PLATFORM=wayland",
        ]
        do throws(Failure) {
            // The first tick comes as soon as events are reported.
            events = try MeasuredServer(
                prefix + [
                    paths[1], "--socket", socket, "--monitor", "--raw", "--type", "subscribe",
                    #"["window","tick"]"#,
                ], clock: clock)
        } catch {
            server.end()
            throw error
        }
    }

    func end() {
        events.end()
        server.end()
    }

    // MARK: Windows

    private var windowCount = 0
    /// The beginning of a line whose end has not arrived.
    private var rest: [UInt8] = []

    /// A description of a window has some thousand bytes.
    private static let lineLimit = 1 << 20
    /// At most this many reads, so that a program that opens windows without an end does not keep
    /// the call from returning.
    private static let readLimit = 64

    func showsWindow() throws(Failure) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        do throws(SystemError) {
            for _ in 0..<Self.readLimit {
                guard try events.output.waitUntilReadable(milliseconds: 0) else { break }
                let count = unsafe read(events.output.rawValue, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0, rest.count < Self.lineLimit else {
                    throw SystemError(
                        code: EPROTO, call: "watching the windows of", subject: "sway")
                }
                hear(buffer[..<count])
            }
        } catch {
            throw .system(error)
        }
        return windowCount > 0
    }

    private func hear(_ bytes: ArraySlice<UInt8>) {
        rest += bytes
        var start = 0
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[start..<end], as: UTF8.self)
            start = end + 1
            switch (try? JSONValue(parsing: line))?["change"] {
            case .string("new"): windowCount += 1
            case .string("close"): windowCount = max(0, windowCount - 1)
            case _: break
            }
        }
        rest.removeSubrange(..<start)
    }

    // MARK: What is on it

    /// 1280 times 720 points of three bytes, and a header.
    private static let pictureLimit = 16 << 20

    func picture() throws(Failure) -> [UInt8] {
        let picture = try MeasuredServer.output(
            grim, [variables[0], "XDG_RUNTIME_DIR=\(runtime)"], clock: clock,
            atMost: Self.pictureLimit)
        // Two missing pictures would be equal.
        guard picture.starts(with: Array("P6".utf8)) else {
            throw .system(SystemError(code: EPROTO, call: "reading the screen of", subject: "sway"))
        }
        return picture
    }

    func differs(from picture: [UInt8]) throws(Failure) -> Bool {
        PictureDifference.isSeen(try self.picture(), picture)
    }
}
