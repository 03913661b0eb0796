import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The dynamic linker goes on without a library that it cannot load, and a program that should only
/// wait would run for real. So nothing is prewarmed with such a shim.
@Suite struct UnusableShimTests {
    private static let app = "org.example.app"

    /// Expects that the program runs only when it is launched, and that the launch says why there
    /// was no pause.
    private func expectCold(
        _ folder: TemporaryDirectory, shim: String, user: Int32? = nil, because word: String
    ) throws {
        let mark = folder.path + "/ran"
        let program = try folder.write(
            "#!/bin/sh\necho ran >>\(mark)\n", to: "program", mode: 0o755)
        var options = TestDaemon.Options()
        options.shim = shim
        var app = TestApp(Self.app, exec: program, prewarm: 1)
        if let user { app.lines.append("User=\(user)") }
        let daemon = try TestDaemon(app, options: options)
        let client = try daemon.client()
        let reasons = try client.explain(Self.app).reasons
        let refusal = #expect(throws: ControlError.self) { try client.prewarm(Self.app) }
        #expect(refusal == .ineligible(app: Self.app, reason: reasons.first?.text))
        #expect(reasons.map(\.code) == ["no_shim"])
        #expect(reasons.first?.text.contains(word) == true, "\(reasons)")
        #expect(daemon.log.contains(word), "\(daemon.log)")
        #expect(access(mark, F_OK) != 0, "it ran before it was launched")
        let launched = try client.run(Self.app, [])
        #expect(launched.launched.coldReason == .ineligible)
        #expect(access(mark, F_OK) == 0)
    }

    private func copy(to folder: TemporaryDirectory, as name: String = "shim.so") throws -> String {
        try folder.copy(try prewarmShim(), to: name)
        chmod(folder.path, 0o777)
        return folder.path + "/" + name
    }

    @Test func `a shim that other users may not read prewarms none of their apps`() throws {
        try requireOrSkip(getuid() == 0, "only root has apps of other users")
        let folder = try TemporaryDirectory()
        let shim = try copy(to: folder)
        chmod(shim, 0o640)
        try expectCold(folder, shim: shim, user: 65_534, because: "chmod a+rX \(shim)")
    }

    @Test func `a shim in a folder that other users cannot enter prewarms none of their apps`()
        throws
    {
        try requireOrSkip(getuid() == 0, "only root has apps of other users")
        let folder = try TemporaryDirectory()
        mkdir(folder.path + "/closed", 0o700)
        let shim = try copy(to: folder, as: "closed/shim.so")
        try expectCold(
            folder, shim: shim, user: 65_534, because: "chmod a+rX \(folder.path)/closed")
    }

    @Test(arguments: [0, 40, 2_000]) func `a shim that is only partly written prewarms nothing`(
        byteCount: Int
    ) throws {
        let folder = try TemporaryDirectory()
        let shim = try copy(to: folder)
        truncate(shim, byteCount)
        try expectCold(folder, shim: shim, because: "install it again")
    }

    @Test func `a shim whose path the dynamic linker would split in two prewarms nothing`() throws {
        let folder = try TemporaryDirectory()
        let shim = try copy(to: folder, as: "the shim.so")
        try expectCold(folder, shim: shim, because: "install Greenroom elsewhere")
    }
}
