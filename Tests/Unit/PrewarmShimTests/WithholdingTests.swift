import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// The library that withholds windows, and a daemon that does not know the library.
@Suite struct WithholdingTests {
    /// An X server (Xvfb(1)) for one test.
    private final class Server {
        let display: String
        private let process: ChildProcess

        init() throws {
            let program = findProgram("Xvfb")
            try requireOrSkip(program != nil, "no Xvfb: apt-get install xvfb")
            let pipe = try Pipe()
            var request = ChildRequest(
                program!,
                arguments: [program!, "-displayfd", "3", "-nolisten", "tcp", "-noreset"],
                environment: ["PATH=/usr/bin:/bin"])
            request.descriptors[3] = pipe.writeEnd
            process = try ChildProcess(request)
            pipe.closeWriteEnd()
            var number: [UInt8] = []
            var byte: UInt8 = 0
            while read(pipe.readEnd, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                number.append(byte)
            }
            guard !number.isEmpty else { throw TestError("Xvfb did not start") }
            display = ":" + String(decoding: number, as: UTF8.self)
        }

        deinit {
            process.kill(SIGKILL)
            _ = try? process.waitForExit()
        }
    }

    /// A daemon of an earlier version would launch it as if it were paused before main.
    @Test(arguments: ["same", "other words", "descriptor"])
    func `a held program is launched only with what it has read`(launch: String) throws {
        let server = try Server()
        let probe = try compileProbe(
            "windows.c",
            with: ProbeCompiler("clang", ["-D_GNU_SOURCE", "-l:libX11.so.6", "-l:libxcb.so.1"]))
        var request = ChildRequest(
            probe, arguments: [probe, "xlib", "one"], environment: ["DISPLAY=\(server.display)"])
        let library = try prewarmShim().replacing("-prewarm.so", with: "-withhold.so")
        let process = try PrewarmedProcess(request, executable: probe, library: library)
        #expect(try process.awaitPause().reason == .call)
        let pipe = try Pipe()
        if launch == "other words" { request.arguments[2] = "two" }
        if launch == "descriptor" { request.descriptors[1] = pipe.writeEnd }
        try process.sendLaunch(as: request, cookie: 3)
        if launch == "same" {
            #expect(try process.receive() == .started(cookie: 3))
            process.child.kill(SIGKILL)
            _ = try process.child.waitForExit()
        } else {
            #expect(try process.receive() == .error(errno: ENXIO, cookie: 3))
            #expect(try process.child.waitForExit() == .status(0))
        }
    }
}
