import Glibc
import GreenroomLinux
import GreenroomManifest
import TestSupport
import Testing

@testable import GreenroomSupervisor

/// The facts on which a list of imports depends.
@Suite struct LearnedDepthTests {
    private let folder: TemporaryDirectory
    private let script: String

    init() throws {
        folder = try TemporaryDirectory()
        script = try folder.write("import json\n", to: "tool.py")
    }

    private func learning(
        _ profiles: Profiles = Profiles(), version: String = "1.0", lines: String = "",
        hooks: String = "/hooks"
    ) throws -> InstalledApp.Learning {
        let text = "[App]\nExec=/usr/bin/python3 \(script)\n[Prewarm]\n\(lines)\n"
        let manifest = try #require(
            AppManifest.parse(Array(text.utf8), file: "/apps/org.example.tool.app").manifest)
        let facts = try ExecutableInspection.inspect(path: "/bin/sh", searchPath: "/bin")
        var depth = InstalledApp.Depth(
            start: RuntimeStart(
                runtime: .python,
                command: try RuntimeCommand(["/usr/bin/python3", script], of: .python),
                hooks: hooks, imports: [], processName: nil),
            files: [], scriptWords: [], objection: nil)
        depth.learn(
            from: ImportLists(), profiles, manifest, Account(unlisted: 1, group: 1), facts,
            KeyedDigest(secret: (1, 2)), version: version)
        return try #require(depth.learning)
    }

    private func profile(_ reason: String) throws -> Profiles {
        let text = "[Profile]\nProgram=tool.py\nVersion=tool 1\nVouch=a \(reason)\n"
        let read = Profile.parse(Array(text.utf8), file: "/profiles/tool.conf").profile
        return Profiles([try #require(read)])
    }

    @Test func `it is made anew by another version of Greenroom, another setting or profile`()
        throws
    {
        let basis = try learning().basis
        #expect(try learning().basis == basis)
        #expect(try learning(version: "1.1").basis != basis)
        #expect(try learning(lines: "ImportsExclude=json").basis != basis)
        let vouched = try learning(try profile("time"))
        #expect(vouched.basis != basis && vouched.profile == "/profiles/tool.conf")
        #expect(try learning(try profile("opens")).basis != vouched.basis)
    }

    @Test func `it is made anew if another file inspects, in the same version of Greenroom`() throws
    {
        let hooks = folder.path
        #expect(mkdir(hooks + "/python", 0o755) == 0)
        _ = try folder.write("", to: "python/inspect_imports.py")
        let basis = try learning(hooks: hooks).basis
        #expect(try learning(hooks: hooks).basis == basis)
        _ = try folder.write("pass\n", to: "python/inspect_imports.py")
        let edited = try learning(hooks: hooks).basis
        #expect(edited != basis)
        _ = try folder.write("", to: "libgreenroom-inspect.so")
        #expect(try learning(hooks: hooks).basis != edited)
    }

    @Test func `it is made anew after an edit of the script that the manifest names`() throws {
        let before = try learning()
        #expect(before.script?.path == script)
        _ = try folder.write("import decimal, json\n", to: "tool.py")
        #expect(try learning().basis != before.basis)
    }
}
