import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// The words of a program that has a probe as its plug-in: the libraries of the probe are in a
/// scope of their own, and not in the program's.
func compilePlugIn(_ name: String, _ flags: [String]) throws -> String {
    let program = try compileProbe("opens-main.c", with: ProbeCompiler("clang"))
    let plugIn = try compileProbe(
        name, with: ProbeCompiler("clang", flags + ["-shared", "-fPIC"]), output: "plug-in.so")
    return "\(program) \(plugIn)"
}

/// The test's own X server (Xvfb(1)), and a client that looks at its windows.
final class Screen {
    let display: String
    private let folder: TemporaryDirectory
    private let server: ChildProcess

    private static let flags = ["-D_GNU_SOURCE", "-l:libX11.so.6", "-l:libxcb.so.1"]

    static func probe() throws -> String {
        try compileProbe("windows.c", with: ProbeCompiler("clang", flags + ["-rdynamic"]))
    }

    /// The same as a plug-in: see `compilePlugIn`.
    static func plugIn() throws -> String { try compilePlugIn("windows.c", flags) }

    init() throws {
        let program = findProgram("Xvfb")
        try requireOrSkip(program != nil, "no Xvfb: apt-get install xvfb")
        folder = try TemporaryDirectory()
        let pipe = try Pipe()
        var request = ChildRequest(
            program!,
            arguments: [
                program!, "-displayfd", "3", "-screen", "0", "640x480x24", "-fbdir", folder.path,
                "-nolisten", "tcp", "-noreset",
            ], environment: ["PATH=/usr/bin:/bin"])
        request.descriptors[3] = pipe.writeEnd
        server = try ChildProcess(request)
        pipe.closeWriteEnd()
        let number = try readLine(pipe.readEnd)
        guard !number.isEmpty else { throw TestError("Xvfb did not start") }
        display = ":" + number
    }

    deinit { end() }

    func end() {
        server.kill(SIGKILL)
        _ = try? server.waitForExit()
    }

    /// Stops the server until `resume`.
    func stop() { server.kill(SIGSTOP) }
    func resume() { server.kill(SIGCONT) }

    private func request(_ word: String) throws -> ChildRequest {
        let probe = try Self.probe()
        return ChildRequest(
            probe, arguments: [probe, word], environment: ["DISPLAY=\(display)"])
    }

    /// The names of the visible windows, the lowest first.
    func windows() throws -> [String] {
        let text = String(decoding: try run(try request("asks")).output, as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// The time of the window's last use, 0 if it has none, and the identifier of its launch.
    func dates(of name: String) throws -> (time: UInt32, identifier: String) {
        var request = try request("dates")
        request.arguments.append(name)
        let words = String(decoding: try run(request).output, as: UTF8.self).split(
            whereSeparator: \.isWhitespace)
        guard words.count == 2, let time = UInt32(words[0]) else {
            throw TestError("the window \(name) has the dates \(words)")
        }
        return (time, String(words[1]))
    }

    /// Destroys the window of another client, shown or not.
    func destroy(_ name: String) throws {
        var request = try request("breaks")
        request.arguments.append(name)
        guard try run(request).exit == .status(0) else { throw TestError("no window \(name)") }
    }

    /// Changes a setting of the display, as the words say.
    func change(_ words: String...) throws {
        var request = try request("changes")
        request.arguments += words
        let ended = try run(request)
        try requireOrSkip(ended.exit != .status(13), "no libXrandr: apt-get install libxrandr2")
        guard ended.exit == .status(0) else { throw TestError("\(words) did not change") }
    }

    /// Runs a program that changes the display.
    func execute(_ name: String, package: String, _ words: String...) throws {
        let program = findProgram(name)
        try requireOrSkip(program != nil, "no \(name): apt-get install \(package)")
        let ended = try run(
            ChildRequest(
                program!, arguments: [program!] + words, environment: ["DISPLAY=\(display)"]))
        guard ended.exit == .status(0) else { throw TestError("\(name) \(words): \(ended.exit)") }
    }

    /// A window manager, openbox(1), when it manages.
    ///
    /// - Parameter folder: of the test.
    func manage(in folder: String) throws -> ChildProcess {
        let program = findProgram("openbox")
        try requireOrSkip(program != nil, "no openbox: apt-get install openbox")
        let mark = folder + "/managed"
        let manager = try ChildProcess(
            ChildRequest(
                program!, arguments: [program!, "--startup", "touch \(mark)"],
                environment: ["PATH=/usr/bin:/bin", "DISPLAY=\(display)", "HOME=\(folder)"]))
        try Processes.wait("openbox does not start") { access(mark, F_OK) == 0 }
        return manager
    }

    /// A client that shows windows as the words say.
    func show(_ words: String...) throws -> ChildProcess { try show(words) }

    func show(_ words: [String]) throws -> ChildProcess {
        let probe = try Self.probe()
        return try ChildProcess(
            ChildRequest(
                probe, arguments: [probe] + words, environment: ["DISPLAY=\(display)"]))
    }

    /// Says in the window manager's place that the window has the focus. Returns false if there is no
    /// such window.
    func putInFront(_ name: String) throws -> Bool {
        var request = try request("fronts")
        request.arguments.append(name)
        return try run(request).exit == .status(0)
    }

    /// A client that changes a property of the root window without a pause, when it has begun.
    func flood(_ property: String) throws -> ChildProcess {
        let pipe = try Pipe()
        var request = try request("floods")
        request.arguments.append(property)
        request.descriptors[1] = pipe.writeEnd
        let process = try ChildProcess(request)
        pipe.closeWriteEnd()
        guard try readLine(pipe.readEnd) == "flooding" else {
            throw TestError("nothing changes \(property)")
        }
        return process
    }

    /// A settings manager: each line that it reads is a setting, which it answers with "set".
    func settingsManager(input: Int32, output: Int32) throws -> ChildProcess {
        var request = try request("manages")
        request.descriptors[0] = input
        request.descriptors[1] = output
        return try ChildProcess(request)
    }

    /// Asks the window manager to give a window the focus, once it manages the window.
    func activate(_ name: String) throws {
        var request = try request("activates")
        request.arguments.append(name)
        let ended = try run(request)
        guard ended.exit == .status(0) else { throw TestError("there is no window \(name)") }
    }

    /// - Parameter hearsMessages: whether the process also prints messages of clients to the window
    ///   manager.
    func watch(hearsMessages: Bool = false) throws -> WindowWatch {
        try WindowWatch(try request(hearsMessages ? "hears" : "watch"))
    }

    /// The picture on the screen (xwd(1)).
    func picture() throws -> [UInt8] { try readFile(folder.path + "/Xvfb_screen0") }

    /// The picture on the screen when it no longer changes and differs from `other`.
    func settledPicture(other: [UInt8]) throws -> [UInt8] {
        var last = try picture()
        var sameCount = 0
        for _ in 0..<300 where sameCount < 10 {
            poll(nil, 0, 50)
            let next = try picture()
            sameCount = next == last && next != other ? sameCount + 1 : 0
            last = next
        }
        guard sameCount == 10 else { throw TestError("the screen does not come to rest") }
        return last
    }

    func await(picture: [UInt8], of name: String) throws {
        for _ in 0..<100 {
            if try self.picture() == picture { return }
            poll(nil, 0, 50)
        }
        let now = try self.picture()
        let count = zip(now, picture).count { $0 != $1 }
        Issue.record("\(name) looks different: \(count) bytes differ")
    }
}
