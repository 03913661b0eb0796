import Glibc
import Testing

@testable import GreenroomSupervisor

/// What the daemon tells from the trace of an inspection, which a process of the app's user writes.
@Suite struct ImportTraceTests {
    private static func read(
        _ lines: String..., names: [String] = ["a", "b", "c"], excluded: Set<String> = []
    ) -> LearnedImports? {
        let text = (lines + ["done"]).map { $0.replacing(" ", with: "\t") + "\n" }.joined()
        return read(text, names: names, excluded: excluded)
    }

    private static func read(
        _ text: String, names: [String] = [], excluded: Set<String> = []
    ) -> LearnedImports? {
        var trace = ImportTrace(Array(text.utf8))
        while trace?.readSome() == true {}
        return trace?.findings(for: names, excluding: excluded.contains)
    }

    @Test func `what does nothing of note is loaded before the pause, with its stamp`() throws {
        let found = try #require(
            Self.read("begin a", "begin b", "end b 2", "end a 1", names: ["a", "b"]))
        #expect(found.lines == ["a\t1", "b\t2"] && found.refused.isEmpty)
    }

    @Test func `a module is refused with whatever loads it, also if it was loaded before`() throws {
        let found = try #require(
            Self.read(
                "begin b", "does arguments", "end b 2", "begin a", "needs b", "end a 1", "begin c",
                "begin a", "end a 1", "end c 3"))
        #expect(found.lines.isEmpty)
        #expect(
            found.refused == [
                .init(name: "a", reason: "arguments", cause: "b"),
                .init(name: "b", reason: "arguments", cause: "b"),
                .init(name: "c", reason: "arguments", cause: "b"),
            ])
    }

    @Test func `a question for a terminal is a line for the hook, and no variable`() throws {
        let found = try #require(
            Self.read(
                "begin a", "reads X", "reads ?terminal", "end a 1", "begin b", "does time",
                "end b 2", names: ["a", "b"]))
        #expect(found.lines == ["a\t1", "?terminal\t-"])
        #expect(found.names == ["a"])
        #expect(found.variables == ["X"])
        let other = try #require(
            Self.read(
                "begin a", "end a 1", "begin b", "reads ?terminal", "does time", "end b 2",
                names: ["a", "b"]))
        #expect(other.lines == ["a\t1"])
    }

    @Test func `a trace says which version of a profile's gem was found`() throws {
        let known = try #require(
            Self.read("begin a", "vouched g_hello 1.2", "end a 1", names: ["a"]))
        #expect(known.vouched == .init(distribution: "g_hello", number: "1.2", isKnown: true))
        let unknown = try #require(Self.read("begin a", "end a 1", "unknown g_hello -"))
        #expect(unknown.version == .init(distribution: "g_hello", number: "-", isKnown: false))
    }

    @Test func `one that fails can only not be loaded by its name`() throws {
        let found = try #require(
            Self.read("begin a", "begin b", "fails b 2", "end a 1", names: ["a", "b", "c"]))
        #expect(found.lines == ["a\t1"])
        #expect(found.refused.map(\.name) == ["b", "c"])
        #expect(found.refused.map(\.reason) == ["fails", "order"])
    }

    @Test func `what comes after a refused module is left, too, as it may tell`() throws {
        let found = try #require(
            Self.read("begin a", "end a 1", "begin b", "does time", "end b 2", "begin c", "end c 3")
        )
        #expect(found.lines == ["a\t1"])
        #expect(
            found.refused == [
                .init(name: "b", reason: "time", cause: "b"),
                .init(name: "c", reason: "order", cause: "b"),
            ])
    }

    @Test func `what a module loads is listed with it, and what another loads is not`() throws {
        let found = try #require(
            Self.read(
                "begin a", "begin x", "end x 5", "begin y", "fails y 6", "end a 1", "begin b",
                "begin z", "reads Z", "end z 7", "does time", "end b 2", names: ["a", "b"]))
        #expect(found.lines == ["a\t1", "x\t5"] && found.variables.isEmpty)
    }

    @Test func `files that are read count, but not those of modules and their folders`() throws {
        let found = try #require(
            Self.read(
                "place /lib", "begin /lib/r/a.rb", "data /lib/r/a.rb 1", "data /lib/r -",
                "data /lib -", "data /lib/x.txt 5", "data /usr/share -", "end /lib/r/a.rb 1",
                "begin M/b.pm", "data /lib/M/b.pm 2", "end M/b.pm 2", "begin c", "does time",
                "data /lib/y 7", "end c 3", names: ["/lib/r/a.rb", "M/b.pm", "c"]))
        #expect(
            found.lines == [
                "/lib/r/a.rb\t1", "M/b.pm\t2", "=/lib/x.txt\t5", "=/usr/share\t-",
            ])
        #expect(found.names == ["/lib/r/a.rb", "M/b.pm"])
    }

    @Test(arguments: ["/lib/a file", "/lib/\u{e9}", "/lib/" + String(repeating: "x", count: 600)])
    func `a module is refused that reads a file which no list can have`(_ path: String) throws {
        let found = try #require(
            Self.read("begin\ta\ndata\t\(path)\t1\nend\ta\t1\ndone\n", names: ["a"]))
        #expect(found.lines.isEmpty)
        #expect(found.refused == [.init(name: "a", reason: "opens", cause: "a")])
    }

    @Test func `a module that reads too many files is refused`() throws {
        func found(_ count: Int) -> LearnedImports? {
            let data = (0..<count).map { "data\t/usr/\($0)\t-\n" }.joined()
            return Self.read("begin\ta\n\(data)end\ta\t1\ndone\n", names: ["a"])
        }
        #expect(try #require(found(512)).refused.isEmpty)
        #expect(try #require(found(513)).refused.map(\.reason) == ["opens"])
    }

    @Test func `what is known to be harmless is spared, and nothing else of the module`() throws {
        let spared = Self.read("begin a", "spares time", "does time", "end a 1", names: ["a"])
        #expect(try #require(spared).refused.isEmpty)
        let two = Self.read(
            "begin a", "spares time", "spares thread", "does time", "does thread", "end a 1",
            names: ["a"])
        #expect(two?.names == ["a"])
        let other = Self.read("begin a", "spares time", "does thread", "end a 1", names: ["a"])
        #expect(try #require(other).refused.map(\.reason) == ["thread"])
    }

    @Test(arguments: [
        ("opens /home/me/lib/x", String?.none), ("opens /home/me/lib", nil),
        ("opens /home/me/.rc", "opens"), ("opens x", "directory"), ("reads *", "variables"),
        ("reads COLUMNS", "variables"), ("reads HOME", nil),
    ])
    func `files count that are not where modules are, and variables of one launch`(
        _ line: String, _ reason: String?
    ) throws {
        let found = Self.read("place /home/me/lib", "begin a", line, "end a 1", names: ["a"])
        #expect(try #require(found).refused.first?.reason == reason)
    }

    @Test func `variables count that a module reads which is not refused`() throws {
        let found = try #require(
            Self.read(
                "reads BEFORE", "begin a", "reads A", "end a 1", "begin b", "reads A", "reads B",
                "does time", "end b 2", names: ["a", "b"]))
        #expect(found.variables == ["A"])
    }

    @Test func `an excluded module is refused with what loads it`() throws {
        let found = try #require(
            Self.read("begin a", "begin b", "end b 2", "end a 1", names: ["a"], excluded: ["b"]))
        #expect(found.refused == [.init(name: "a", reason: "excluded", cause: "b")])
    }

    @Test(arguments: [
        (Runtime.perl, "Getopt/Long.pm", "Getopt::Long", true),
        (.perl, "Getopt/Long.pm", "Getopt/Long.pm", true), (.perl, "Getopt/Long.pm", "Long", false),
        (.ruby, "/usr/lib/ruby/net/http.rb", "net/http", true),
        (.ruby, "/usr/lib/ruby/net/http.rb", "http", true),
        (.ruby, "/usr/lib/ruby/net/http.rb", "ttp", false), (.python, "a.b", "a.b", true),
        (.node, "/a/node_modules/debug/src/x.js", "debug", true),
        (.node, "/a/node_modules/debug/src/x.js", "debug/src/x.js", true),
        (.node, "/usr/share/nodejs/@a/b/x.js", "@a/b", true),
        (.node, "/a/node_modules/b.js", "b", true),
        (.node, "/a/node_modules/debug/src/x.js", "src", false), (.node, "node:fs", "fs", false),
        (.node, "/a/node_modules/debugger/x.js", "debug", false),
        (.node, "/a/node_modules/b/node_modules/c.cjs", "c", true),
        (.node, "/a/node_modules/b.mjs", "b", false), (.node, "/usr/nodejs/nodejs/b.js", "b", true),
        (.node, "node_modules/b.js", "b", false),
        (.python, "a.b", "b", false),
    ])
    func `a word of ImportsExclude is a name as the language writes it`(
        _ runtime: Runtime, _ name: String, _ word: String, _ isExcluded: Bool
    ) {
        #expect(runtime.isExcluded(name, by: [word]) == isExcluded)
    }

    @Test func `of more than one list can have, the first names are kept with all that they load`()
        throws
    {
        let names = (0..<600).map { "a\($0)" }
        let loaded = names.map { "begin\t\($0)\nbegin\t\($0)x\nend\t\($0)x\t2\nend\t\($0)\t1\n" }
        let found = try #require(Self.read(loaded.joined() + "done\n", names: names))
        #expect(found.lines.count == 1024 && found.lines.last == "a511x\t2")
        #expect(found.refused.first == .init(name: "a512", reason: "limit", cause: "a512"))
        let long = String(repeating: "n", count: 400)
        let longer = names.map { "begin\t\($0)\(long)\nend\t\($0)\(long)\t1\n" }
        let fitting = try #require(
            Self.read(longer.joined() + "done\n", names: names.map { $0 + long }))
        #expect((200..<260).contains(fitting.lines.count))
    }

    @Test func `a trace with more than any program loads tells nothing`() {
        let modules = (0...4096).map { "begin\ta\($0)\nend\ta\($0)\t1\n" }
        #expect(Self.read(modules.dropLast().joined() + "done\n") != nil)
        #expect(Self.read(modules.joined() + "done\n") == nil)
        let places = (0...64).map { "place\t/p\($0)\n" }
        #expect(Self.read(places.dropLast().joined() + "done\n") != nil)
        #expect(Self.read(places.joined() + "done\n") == nil)
    }

    @Test func `a long trace is read in parts, and one that is endless tells nothing`() {
        var trace = ImportTrace(
            Array((0..<1000).map { "reads\tV\($0)\n" }.joined().utf8) + Array("done\n".utf8))
        var parts = 1
        while trace?.readSome() == true { parts += 1 }
        #expect(parts > 3)
        // The finding for every refused name would repeat this text.
        let long = String(repeating: "x", count: 5000)
        #expect(Self.read("begin\ta\nreads\t\(long)\nend\ta\t1\ndone\n") == nil)
        let lines = repeatElement("needs\ta\n", count: 16 << 10)
        #expect(Self.read(lines.dropLast().joined() + "done\n") != nil)
        #expect(Self.read(lines.joined() + "needs\ta\ndone\n") == nil)
    }

    private static func readGroups(
        _ lines: String..., names: [String], excluded: Set<String> = []
    ) -> LearnedImports? {
        let text = (lines + ["done"]).map { $0.replacing(" ", with: "\t") + "\n" }.joined()
        var trace = ImportTrace(Array(text.utf8))
        while trace?.readSome() == true {}
        return trace?.findingsInGroups(for: names, excluding: excluded.contains)
    }

    @Test func `a group has a module first, and then all that it needs`() throws {
        let found = try #require(
            Self.readGroups(
                "begin a", "begin c", "end c 3", "begin b", "needs c", "needs a", "end b 2",
                "end a 1", "begin node:fs", "end node:fs -", names: ["a", "c", "b", "node:fs"]))
        #expect(found.lines == ["a\t1", "b\t2", "c\t3", "node:fs\t-"] && found.refused.isEmpty)
    }

    @Test func `a refused module keeps out what needs it, and not what it needs or what follows`()
        throws
    {
        let found = try #require(
            Self.readGroups(
                "begin a", "begin b", "begin c", "reads C", "end c 3", "does time", "reads B",
                "end b 2", "end a 1", "begin d", "end d 4", names: ["a", "b", "c", "d"]))
        #expect(found.lines == ["c\t3", "d\t4"] && found.variables == ["C"])
        #expect(
            found.refused == [
                .init(name: "a", reason: "time", cause: "b"),
                .init(name: "b", reason: "time", cause: "b"),
            ])
    }

    @Test func `a module of a file that is left to launches is compiled, unless it is excluded`()
        throws
    {
        let found = try #require(
            Self.readGroups(
                "begin /a", "begin /b", "does time", "end /b 2", "end /a 1", "begin /c", "end /c 3",
                "begin node:http", "does known", "end node:http -", "begin /d", "end /d 4",
                "begin /f.json", "does time", "end /f.json 5",
                names: ["/a", "/b", "/c", "node:http", "/d", "/f.json", "/a", "/e"],
                excluded: ["/d"]))
        #expect(found.lines == ["/c\t3", "~/a\t-", "~/b\t-"])
        #expect(found.names == ["/c"] && found.compiledCount == 2)
    }

    @Test func `of modules that are compiled, a list has no more than it can`() throws {
        let names = (0..<1030).map { "/a\($0)" }
        let lines = names.map { "begin\t\($0)\ndoes\ttime\nend\t\($0)\t1\n" }
        var trace = ImportTrace(Array((lines.joined() + "done\n").utf8))
        while trace?.readSome() == true {}
        let many = try #require(
            trace?.findingsInGroups(for: Array(names.prefix(1024)), excluding: { _ in false }))
        #expect(many.lines.count == 1024 && many.compiledCount == 1024)
    }

    @Test func `of two groups that share a module, only the first is loaded before the pause`()
        throws
    {
        let found = try #require(
            Self.readGroups(
                "begin a", "begin x", "end x 9", "end a 1", "begin b", "needs x", "begin y",
                "end y 8", "end b 2", names: ["a", "x", "b", "y"]))
        #expect(found.lines == ["a\t1", "x\t9", "y\t8"])
        #expect(found.refused == [.init(name: "b", reason: "shared", cause: "x")])
    }

    @Test func `first requires may take from others and share modules`() throws {
        let found = try #require(
            Self.readGroups(
                "first a /a", "begin /a", "begin /x", "end /x 9", "end /a 1",
                "first http node:http", "begin node:http", "takes http", "end node:http -",
                "first b{y,z} /b", "begin /b", "needs /x", "takes net", "reads ?terminal=/b",
                "end /b 2", "first c /c", "begin /c", "end /c 3", "first -", "begin /d", "needs /x",
                "end /d 4",
                names: ["/a", "/x", "/b", "/c", "/d"]))
        #expect(
            found.lines == [
                "?begins:a=/a\t-", "?begins:http\t-", "?begins:b{y,z}=/b\t-", "/a\t1", "/x\t9",
                "/b\t2", "?terminal=/b\t-", "/c\t3", "~/d\t-",
            ])
        #expect(found.refused == [.init(name: "/d", reason: "shared", cause: "/x")])
    }

    @Test func `first requires end before a refused module and take nothing`() throws {
        let found = try #require(
            Self.readGroups(
                "first a /a", "begin /a", "takes net", "end /a 1", "first b /b", "begin /b",
                "takes http", "begin /c", "does state", "end /c 3", "end /b 2", "first d /d",
                "begin /d", "takes zlib", "end /d 4", "first -", names: ["/a", "/b", "/c", "/d"]))
        #expect(found.lines == ["?begins:a=/a\t-", "/a\t1", "~/b\t-", "~/c\t-", "~/d\t-"])
        #expect(
            found.refused == [
                .init(name: "/b", reason: "known", cause: "/b"),
                .init(name: "/c", reason: "state", cause: "/c"),
                .init(name: "/d", reason: "known", cause: "/d"),
            ])
        let excluded = try #require(
            Self.readGroups(
                "first a /a", "begin /a", "takes net", "end /a 1", "first -", names: ["/a"],
                excluded: ["/a"]))
        #expect(excluded.lines.isEmpty)
    }

    @Test func `a program that requires nothing of that kind first has the plain list`() throws {
        let found = try #require(
            Self.readGroups(
                "first fs node:fs", "begin node:fs", "end node:fs -", "first a /a", "begin /a",
                "end /a 1", "first -", names: ["/a"]))
        #expect(found.lines == ["/a\t1"])
    }

    @Test func `one that fails keeps out what needs it`() throws {
        let found = try #require(
            Self.readGroups(
                "begin a", "begin b", "fails b 2", "end a 1", "begin c", "end c 3",
                names: ["a", "b", "c", "d"]))
        #expect(found.lines == ["c\t3"])
        #expect(
            found.refused == [
                .init(name: "a", reason: "fails", cause: "b"),
                .init(name: "b", reason: "fails", cause: "b"),
                .init(name: "d", reason: "fails", cause: "d"),
            ])
    }

    @Test func `questions are listed with their group, and files but not descriptions of packages`()
        throws
    {
        let found = try #require(
            Self.readGroups(
                "place /n", "begin /n/a.js", "reads ?terminal=/n/a.js", "data /n/a/package.json 6",
                "data /n/x.txt 5", "end /n/a.js 1", "begin /n/b.js", "does time",
                "reads ?terminal=/n/b.js", "end /n/b.js 2", names: ["/n/a.js", "/n/b.js"]))
        #expect(
            found.lines == ["=/n/x.txt\t5", "/n/a.js\t1", "?terminal=/n/a.js\t-", "~/n/b.js\t-"])
        #expect(found.names == ["/n/a.js"])
    }

    @Test func `of files, a list of groups has those that its own modules read, each once`()
        throws
    {
        let found = try #require(
            Self.readGroups(
                "place /n", "begin /n/a.js", "data /n/cache 1", "data /n/shared 2", "does time",
                "begin /n/b.js", "data /n/shared 2", "end /n/b.js 4", "data /n/cache 1",
                "end /n/a.js 3", "begin /n/c.js", "data /n/shared 2", "data /n/own 5",
                "data /n/own 5", "end /n/c.js 6", names: ["/n/a.js", "/n/b.js", "/n/c.js"]))
        #expect(
            found.lines == [
                "=/n/shared\t2", "/n/b.js\t4", "=/n/own\t5", "/n/c.js\t6", "~/n/a.js\t-",
            ])
    }

    @Test func `a file that two names read is in a list once`() throws {
        let found = try #require(
            Self.read(
                "begin a", "data /usr/x 9", "end a 1", "begin b", "data /usr/x 9", "end b 2",
                names: ["a", "b"]))
        #expect(found.lines == ["a\t1", "b\t2", "=/usr/x\t9"])
    }

    @Test func `a question that no list can have is refused`() throws {
        let found = Self.readGroups(
            "begin a", "reads ?argument:\u{e9}=a", "end a 1", names: ["a"])
        #expect(try #require(found).refused.map(\.reason) == ["arguments"])
    }

    @Test func `an excluded module keeps out its group, and one list has no more than it can`()
        throws
    {
        let found = try #require(
            Self.readGroups(
                "begin a", "begin b", "end b 2", "end a 1", names: ["a", "b"], excluded: ["b"]))
        #expect(found.refused.map(\.cause) == ["b", "b"])
        let names = (0..<1025).map { "a\($0)" }
        var trace = ImportTrace(
            Array((names.map { "begin\t\($0)\nend\t\($0)\t1\n" }.joined() + "done\n").utf8))
        while trace?.readSome() == true {}
        let many = try #require(trace?.findingsInGroups(for: names, excluding: { _ in false }))
        #expect(many.lines.count == 1024)
        #expect(many.refused == [.init(name: "a1024", reason: "limit", cause: "a1024")])
    }

    /// One module reads as many files as a trace can have, and every name needs the module.
    @Test func `files that no list can have are not gone through for each name`() throws {
        let names = (0..<1024).map { "n\($0)" }
        let files = (0..<12_900).map { "data\t/p\($0)\t1\n" }.joined()
        let groups = names.map { "begin\t\($0)\nneeds\tx\nend\t\($0)\t1\n" }.joined()
        let text = "begin\tx\n" + files + "end\tx\t1\n" + groups + "done\n"
        var trace = ImportTrace(Array(text.utf8))
        while trace?.readSome() == true {}
        func time(_ names: [String]) throws -> Int {
            let start = Self.processorTime
            let findings = trace?.findingsInGroups(for: names, excluding: { _ in false })
            let end = Self.processorTime
            let found = try #require(findings)
            #expect(found.lines.isEmpty && found.refused.map(\.name) == names)
            #expect(found.refused.allSatisfy { $0.reason == "limit" && $0.cause == $0.name })
            return end - start
        }
        // A virtual machine counts what its host takes from it as processor time.
        func lowestTime(_ names: [String]) throws -> Int {
            try (0..<5).reduce(.max) { lowest, _ in min(lowest, try time(names)) }
        }
        let one = try lowestTime(["n0"])
        let all = try lowestTime(names)
        #expect(all < 20 * one)
    }

    /// The processor time of this thread, in nanoseconds.
    private static var processorTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    @Test func `a trace without its end tells nothing`() {
        #expect(Self.read("begin\ta\nend\ta\t1\n") == nil)
        #expect(Self.read("") == nil)
    }
}
