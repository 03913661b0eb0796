import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// One attempt to break out: the manifest's lines, the app's act, and the result with these lines
/// and without them. Success without them shows that the attempt is a real one.
struct Escape: Sendable, CustomTestStringConvertible {
    var keys: [String]
    var act: String
    /// The error's name, or "done".
    var confined: String
    var free = "done"
    var users: [Int32] = [0, 65_534]

    init(
        _ keys: String..., act: String, is confined: String, free: String = "done",
        as users: [Int32] = [0, 65_534]
    ) {
        self.keys = keys
        self.act = act
        self.confined = confined
        self.free = free
        self.users = users
    }

    var testDescription: String { "\(act) with \(keys.joined(separator: " "))" }
}

/// A user's own folder where the app may write, and which no key hides.
final class Scratch {
    let path: String
    private let user: uid_t

    init(for user: Int32) throws {
        self.user = uid_t(user)
        var template = Array("/dev/shm/greenroom-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestError("mkdtemp: \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
        if getuid() == 0 { chown(path, uid_t(user), gid_t(user)) }
    }

    deinit { removeTree(path) }

    /// Copies one of the test's programs to a folder that everybody sees.
    func copy(_ program: String, as name: String) throws -> String {
        let target = path + "/" + name
        let bytes = try readFile(program)
        let file = open(target, O_WRONLY | O_CREAT | O_EXCL, 0o755)
        defer {
            close(file)
            awaitNoWriter(of: target)
        }
        guard write(file, bytes, bytes.count) == bytes.count else {
            throw TestError("copying \(program)")
        }
        if getuid() == 0 { fchown(file, user, user) }
        return target
    }
}

/// A daemon with the probe `escape` as a confined app and as a free one, both also paused.
struct Prison {
    let daemon: TestDaemon
    let client: TestClient
    let scratch: Scratch

    static let app = "org.example.confined"
    static let free = "org.example.free"

    init(_ keys: [String], user: Int32 = Int32(getuid()), prewarm: Int = 1) throws {
        let scratch = try Scratch(for: user)
        self.scratch = scratch
        // No key under test hides these two.
        let probe = try scratch.copy(try compileProbe("escape.c"), as: "escape")
        var options = TestDaemon.Options()
        options.shim = try scratch.copy(try prewarmShim(), as: "shim.so")
        if user != getuid() { options.user = user }
        let lines = keys.map { $0.replacing("SCRATCH", with: scratch.path) }
        daemon = try TestDaemon(
            TestApp(
                Self.app, exec: probe, prewarm: prewarm, prewarmLines: ["[Sandbox]"] + lines),
            TestApp(Self.free, exec: probe, prewarm: prewarm), options: options)
        client = try daemon.client()
    }

    /// The result of each act, in one word.
    func attempt(
        _ acts: [String], in app: String, expecting kind: Control.LaunchKind,
        _ change: (inout Control.LaunchCall) -> Void = { _ in }
    ) throws -> [String] {
        let words = acts.map { $0.replacing("SCRATCH", with: scratch.path) }
        let run = try client.run(app, words, change)
        #expect(run.launched.kind == kind)
        return run.text.split(separator: "\n").map(String.init)
    }
}
