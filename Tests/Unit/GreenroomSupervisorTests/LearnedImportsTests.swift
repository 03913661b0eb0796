import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

/// What an inspection reports, and what becomes of it: both come from processes of an app's user.
@Suite struct LearnedImportsTests {
    private static func read(_ lines: String...) -> LearnedImports? {
        LearnedImports(report: (lines.joined(separator: "\n") + "\n").utf8)
    }

    @Test func `a report is read`() throws {
        let found = try #require(
            Self.read(
                "refused\ta.b\targuments\ta.c", "import\tjson\t17", "import\tnames.pace\t-",
                "reads\tG_VALUE"))
        #expect(found.lines == ["json\t17", "names.pace\t-"])
        #expect(found.refused == [.init(name: "a.b", reason: "arguments", cause: "a.c")])
        #expect(found.variables == ["G_VALUE"])
    }

    @Test(arguments: [
        "import\tjson", "import\tjson\t", "import\tjson\t1\t2", "import\ta b\t1", "import\t\t1",
        "import\t!a\t1",
        "import\tä\t1", "import\tjson\t1x", "import\tjson\n\t1", "import\t#a\t1", "reads\tA=B",
        "reads\t", "reads\tA B", "reads\tA\0", "refused\ta\tB\tc", "refused\ta\tb", "other\ta\t1",
        "", "\t\t\t",
        "import\t" + String(repeating: "a", count: 513) + "\t1",
    ])
    func `a line that no inspection writes is left out`(_ line: String) throws {
        let found = try #require(Self.read(line))
        #expect(found.lines.isEmpty && found.refused.isEmpty && found.variables.isEmpty)
    }

    @Test func `a report says which version a profile was asked about, and so does its copy`()
        throws
    {
        let found = try #require(Self.read("import\tjson\t1", "vouched\tpip\t23.0.1"))
        #expect(found.vouched == .init(distribution: "pip", number: "23.0.1", isKnown: true))
        #expect(LearnedImports(report: found.report.joined(separator: "\n").utf8) == found)
        let other = try #require(Self.read("import\tjson\t1", "unknown\tpip\t-"))
        #expect(other.version?.number == "-" && other.vouched == nil)
        #expect(LearnedImports(report: other.report.joined(separator: "\n").utf8) == other)
    }

    @Test func `more than any inspection finds is no report`() {
        let limit = LearnedImports.Limit.names
        let names = (0...limit).map { "import\ta\($0)\t1\n" }
        #expect(LearnedImports(report: names.dropLast().joined().utf8) != nil)
        #expect(LearnedImports(report: names.joined().utf8) == nil)
        let variables = (0...LearnedImports.Limit.variables).map { "reads\tA\($0)\n" }
        #expect(LearnedImports(report: variables.joined().utf8) == nil)
        let long = (0..<limit).map { "import\t\(String(repeating: "a", count: 190))\($0)\t1\n" }
        #expect(LearnedImports(report: long.joined().utf8) == nil)
    }

    @Test func `of a record, names count, and no more than can be inspected`() {
        #expect(
            LearnedImports.names(inRecord: "json\na b\n\n!x\nnumpy.core\n") == [
                "json", "numpy.core",
            ])
        let many = (0..<5000).map { "a\($0)\n" }.joined()
        #expect(LearnedImports.names(inRecord: many).count == LearnedImports.Limit.names)
    }
}

/// The states of an app whose imports are learned.
@Suite struct ImportListsTests {
    private let lists = ImportLists()
    private let app = AppIdentifier("a")
    private let found = LearnedImports(report: "import\tjson\t1\n".utf8)!

    @Test func `the first record is inspected, and then only one that adds to it`() {
        #expect(lists.wantsRecord(of: app, 1))
        #expect(lists.add(["json", "re"], of: app, 1))
        lists.inspected(app, 1, found)
        #expect(lists.learned(for: app, 1) == found)
        #expect(!lists.add(["re"], of: app, 1))
        #expect(lists.add(["re", "csv"], of: app, 1))
        #expect(lists.recorded(of: app, 1) == ["json", "re", "csv"])
    }

    @Test func `a program that imports something else with each launch is recorded a few times`() {
        for number in 0..<4 {
            #expect(lists.add(["a\(number)"], of: app, 1))
            lists.inspected(app, 1, found)
        }
        #expect(!lists.wantsRecord(of: app, 1))
        #expect(!lists.add(["other"], of: app, 1))
        #expect(lists.learned(for: app, 1) == found)
    }

    @Test func `another basis knows nothing, and what it learns takes the place`() {
        _ = lists.add(["json"], of: app, 1)
        lists.inspected(app, 1, found)
        #expect(lists.learned(for: app, 2) == nil && lists.wantsRecord(of: app, 2))
        // This inspection was begun for the other basis.
        lists.inspected(app, 2, found)
        #expect(lists.learned(for: app, 2) == nil)
        #expect(lists.add(["json"], of: app, 2))
        #expect(lists.learned(for: app, 1) == nil)
    }

    @Test func `a list that fails is inspected again, and given up if it fails again`() {
        _ = lists.add(["json"], of: app, 1)
        lists.inspected(app, 1, found)
        #expect(lists.failed(app, 1, .ended))
        // If that inspection could not begin, the next launch asks for it.
        #expect(lists.add(["json"], of: app, 1))
        #expect(lists.learned(for: app, 1) == nil && lists.recorded(of: app, 1) == ["json"])
        lists.inspected(app, 1, found)
        #expect(!lists.failed(app, 1, .ended))
        #expect(lists.abandonment(of: app, 1) == .failed(.ended))
        #expect(!lists.wantsRecord(of: app, 1) && !lists.failed(app, 1, .ended))
        lists.forget(app)
        #expect(lists.abandonment(of: app, 1) == nil && lists.wantsRecord(of: app, 1))
    }

    @Test func `a list that is another one after each failure is not given up`() throws {
        _ = lists.add(["json"], of: app, 1)
        lists.inspected(app, 1, found)
        #expect(lists.failed(app, 1, .ended))
        for stamp in 2..<9 {
            let other = try #require(LearnedImports(report: "import\tjson\t\(stamp)\n".utf8))
            lists.inspected(app, 1, other)
            // The next launch asks for another inspection, so none follows without a launch.
            #expect(!lists.failed(app, 1, .ended))
            #expect(lists.abandonment(of: app, 1) == nil)
            #expect(lists.add(["json"], of: app, 1))
        }
    }

    @Test func `what a program loads first is recorded anew after a failure`() {
        func add(_ name: String) -> Bool { lists.add([name], of: app, 1, isBeginning: true) }
        #expect(add("gpack-1"))
        lists.inspected(app, 1, found)
        #expect(!add("gpack-2"))
        #expect(lists.failed(app, 1, .ended))
        lists.inspected(app, 1, found)
        #expect(add("gpack-2"))
        #expect(lists.recorded(of: app, 1) == ["gpack-2"])
        lists.inspected(app, 1, found)
        #expect(!add("gpack-3"))
    }

    @Test func `after a failure, launches may teach as often as at first`() {
        for number in 0..<4 {
            #expect(lists.add(["a\(number)"], of: app, 1))
            lists.inspected(app, 1, found)
        }
        #expect(!lists.wantsRecord(of: app, 1))
        #expect(lists.failed(app, 1, .ended))
        #expect(lists.wantsRecord(of: app, 1))
    }

    @Test func `a list that has served a launch may fail again`() {
        _ = lists.add(["json"], of: app, 1)
        for _ in 0..<3 {
            lists.inspected(app, 1, found)
            #expect(lists.failed(app, 1, .ended))
            lists.inspected(app, 1, found)
            lists.served(app, 1)
        }
        #expect(lists.learned(for: app, 1) == found)
    }

    @Test(arguments: [DepthFault.timedOut, .pausedElsewhere, .startsPrograms, .startsAnew])
    func `any other failure ends the list`(_ fault: DepthFault) {
        _ = lists.add(["json"], of: app, 1)
        lists.inspected(app, 1, found)
        #expect(!lists.failed(app, 1, fault))
        #expect(lists.abandonment(of: app, 1) == .failed(fault))
    }

    @Test func `a list whose beginning no launch has is learned without it, once`() throws {
        let beginning = try #require(
            LearnedImports(report: "import\t?begins:a\t-\nimport\tjson\t1\n".utf8))
        _ = lists.add(["json"], of: app, 1)
        lists.inspected(app, 1, beginning)
        #expect(lists.takesBeginning(app, 1))
        #expect(lists.failed(app, 1, .startsAnew))
        #expect(!lists.takesBeginning(app, 1))
        lists.inspected(app, 1, found)
        #expect(!lists.failed(app, 1, .startsAnew))
        #expect(lists.abandonment(of: app, 1) == .failed(.startsAnew))
    }

    @Test func `if an inspection was cut short, the next launch asks for another`() {
        #expect(lists.add(["json"], of: app, 1))
        lists.inspectionWasLost(app, 1)
        #expect(lists.abandonment(of: app, 1) == nil)
        #expect(lists.add(["json"], of: app, 1))
        lists.inspected(app, 1, found)
        #expect(lists.learned(for: app, 1) == found)
        // The same for what comes later.
        #expect(lists.add(["csv"], of: app, 1))
        lists.inspectionWasLost(app, 1)
        #expect(lists.learned(for: app, 1) == found)
        #expect(lists.add(["csv"], of: app, 1))
    }

    @Test func `the same holds for what was recorded while another inspection ran`() {
        #expect(lists.add(["json"], of: app, 1))
        #expect(lists.add(["csv"], of: app, 1))
        lists.inspected(app, 1, found)
        lists.inspectionWasLost(app, 1)
        #expect(lists.add(["csv"], of: app, 1))
    }

    @Test func `if it was cut short, a beginning is inspected after any launch`() {
        #expect(lists.add(["a"], of: app, 1, isBeginning: true))
        lists.inspectionWasLost(app, 1)
        #expect(lists.add(["a", "b"], of: app, 1, isBeginning: true))
        #expect(lists.recorded(of: app, 1) == ["a"])
    }

    @Test func `an app whose inspections are all cut short is given up`() {
        for _ in 0..<4 {
            #expect(lists.abandonment(of: app, 1) == nil)
            #expect(lists.add(["json"], of: app, 1))
            lists.inspectionWasLost(app, 1)
        }
        #expect(lists.abandonment(of: app, 1) == .notInspected)
    }

    @Test func `without a report, nothing is learned`() {
        _ = lists.add(["json"], of: app, 1)
        lists.inspected(app, 1, nil)
        #expect(lists.abandonment(of: app, 1) == .notInspected)
        #expect(!lists.wantsRecord(of: app, 1))
    }
}
