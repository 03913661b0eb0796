import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs of Java, whose classes the daemon learns from their launches.
@Suite struct ClassLearningTests {
    private static let app = RuntimeBench.app
    private static let source = """
        class Heavy { static String value() { return "one " + System.getenv("G_VALUE"); } }
        class Heavier extends Heavy { }
        public class Program {
            public static void main(String[] words) {
                System.out.println(Heavier.value() + words.length);
            }
        }

        """

    /// Compiles the program's classes, and returns their folder.
    private static func compile(_ source: String) throws -> TemporaryDirectory {
        try requireOrSkip(access("/usr/bin/javac", X_OK) == 0, "no /usr/bin/javac")
        let folder = try TemporaryDirectory()
        _ = try folder.write(source, to: "Program.java")
        let compiled = try run(
            ChildRequest(
                "/usr/bin/javac",
                arguments: ["javac", "-d", folder.path, folder.path + "/Program.java"]))
        #expect(compiled.exit == .status(0))
        return folder
    }

    private static func bench(
        lines: [String] = [], prewarmLines: [String] = []
    ) throws -> RuntimeBench {
        let classes = try compile(source)
        return try RuntimeBench(
            ["/usr/bin/java", "-cp", "FOLDER/classes", "Program"],
            copies: Dictionary(
                uniqueKeysWithValues: ["Program", "Heavy", "Heavier"].map {
                    ("classes/\($0).class", "\(classes.path)/\($0).class")
                }), lines: lines, prewarmLines: prewarmLines)
    }

    @Test func `the second launch finds the first one's classes loaded`() throws {
        let bench = try Self.bench()
        let first = try bench.launch(["a"], environment: ["G_VALUE=x"])
        #expect(first.kind == .prewarmed)
        #expect(first.text == "one x1\n")
        let note = try bench.awaitList()
        #expect(note.text.contains("import "), "\(note)")
        let second = try bench.launch(["b", "c"], environment: ["G_VALUE=y"])
        #expect(second.kind == .prewarmed)
        #expect(second.text == "one y2\n")
        #expect(try bench.daemon.client().explain(Self.app).startedAnewCount ?? 0 == 0)
    }

    @Test func `a class that is installed again while an instance waits is loaded anew`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        let new = try Self.compile(Self.source.replacing("one", with: "two"))
        #expect(
            rename(new.path + "/Heavy.class", bench.folder.path + "/classes/Heavy.class") == 0)
        let launched = try bench.launch()
        #expect(launched.kind == .startedAnew)
        #expect(launched.text == "two null0\n")
        // The next instance would load what was not inspected, so that is inspected first.
        try bench.awaitList()
        let next = try bench.launch()
        #expect(next.kind == .prewarmed)
        #expect(next.text == "two null0\n")
    }

    /// An archive with the program's classes.
    private static func archive(_ source: String) throws -> TemporaryDirectory {
        try requireOrSkip(access("/usr/bin/jar", X_OK) == 0, "no /usr/bin/jar")
        let folder = try compile(source)
        let made = try run(
            ChildRequest(
                "/usr/bin/jar",
                arguments: ["jar", "cfe", folder.path + "/x.jar", "Program"]
                    + ["Program", "Heavy", "Heavier"].flatMap {
                        ["-C", folder.path, $0 + ".class"]
                    }))
        #expect(made.exit == .status(0))
        return folder
    }

    /// The list belongs to the version of the archive, as to that of a script.
    @Test func `an archive that is built again and again is learned again`() throws {
        let first = try Self.archive(Self.source)
        let bench = try RuntimeBench(
            ["/usr/bin/java", "-jar", "FOLDER/x.jar"], copies: ["x.jar": first.path + "/x.jar"],
            prewarmLines: [])
        try bench.launch()
        try bench.awaitList()
        let client = try bench.daemon.client()
        for word in ["two", "three"] {
            let new = try Self.archive(Self.source.replacing("one", with: word))
            #expect(rename(new.path + "/x.jar", bench.folder.path + "/x.jar") == 0)
            #expect(try client.reload().failed.isEmpty)
            #expect(try bench.launch().text == "\(word) null0\n")
        }
        try bench.launch()
        try bench.awaitList()
        let reasons = try client.explain(Self.app).reasons.map(\.code)
        #expect(!reasons.contains("imports_abandoned"))
        #expect(try bench.launch().text == "three null0\n")
    }

    @Test func `an excluded class is left to launches`() throws {
        let bench = try Self.bench(prewarmLines: ["ImportsExclude=Heavy"])
        try bench.launch()
        let note = try bench.awaitList()
        #expect(note.text.contains("Heavy (ImportsExclude=)"), "\(note)")
        #expect(try bench.launch().text == "one null0\n")
    }

    @Test func `the inspection runs as the app's user, and its list can be forgotten`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let bench = try Self.bench(lines: ["User=65534", "Group=65534"])
        try bench.launch()
        try bench.awaitList()
        #expect(try bench.launch().kind == .prewarmed)
        guard case .done = try bench.daemon.client().call(.forgetImports(app: Self.app)) else {
            throw TestError("another reply")
        }
        try bench.daemon.await("an instance without a list") { client in
            let codes = try client.explain(Self.app).reasons.map(\.code)
            return try !codes.contains("imports_learned") && client.paused(Self.app).count == 1
                ? true : nil
        }
        #expect(try bench.launch().text == "one null0\n")
    }
}
