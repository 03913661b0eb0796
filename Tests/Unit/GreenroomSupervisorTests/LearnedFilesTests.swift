import Glibc
import GreenroomLifecycle
import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomSupervisor

private let app = AppIdentifier("org.example.app")

/// What launches have taught, read back by another daemon.
@Suite struct `What was learned` {
    private let folder: TemporaryDirectory
    private let files: LearnedFiles
    private var importsPath: String { "\(folder.path)/state/learned/7/\(app).imports" }

    init() throws {
        folder = try TemporaryDirectory()
        files = LearnedFiles(stateDirectory: folder.path + "/state")
    }

    private static let found = LearnedImports(
        report: "import\tjson\t12\nimport\tre\t-\nrefused\tcsv\targuments\tcsv\nreads\tHOME\n".utf8)!

    private static var times: DepthTimes {
        var times = DepthTimes(basis: 1)
        times.deepGeneration = 5
        var work = DepthTimes.Work(name: 9)
        work.shallow = .milliseconds(80)
        work.deep = .milliseconds(20)
        work.deepCount = 2
        times.works = [DepthTimes.Work(name: 0), work]
        times.colds = [DepthTimes.Cold(name: 9, time: .milliseconds(95))]
        return times
    }

    /// A daemon that has learned a list.
    private func learn() {
        let lists = ImportLists(files)
        lists.recall(app, of: 7)
        _ = lists.add(["json", "csv"], of: app, 1)
        lists.inspected(app, 1, Self.found)
        lists.note(Self.times, of: app, 1)
        lists.write(app)
    }

    private func recalled() -> ImportLists {
        let lists = ImportLists(files)
        lists.recall(app, of: 7)
        return lists
    }

    private func text() throws -> String {
        String(decoding: try readFile(importsPath), as: UTF8.self)
    }

    @Test func `of imports is the same for the next daemon`() throws {
        learn()
        let lists = recalled()
        #expect(lists.learned(for: app, 1) == Self.found)
        #expect(lists.recorded(of: app, 1) == ["json", "csv"])
        #expect(lists.times(of: app, 1) == Self.times)
        #expect(lists.abandonment(of: app, 1) == nil)
        // The list counts for nothing with other files, or for another user.
        #expect(lists.learned(for: app, 2) == nil)
        let others = ImportLists(files)
        others.recall(app, of: 8)
        #expect(others.learned(for: app, 1) == nil)
    }

    @Test func `is given up for the next daemon, too`() {
        learn()
        #expect(!recalled().failed(app, 1, .savesNothing))
        let lists = recalled()
        #expect(lists.abandonment(of: app, 1) == .failed(.savesNothing))
        #expect(lists.learned(for: app, 1) == nil && !lists.wantsRecord(of: app, 1))
        lists.forget(app)
        #expect(recalled().wantsRecord(of: app, 1))
    }

    @Test func `asks the next daemon, too, for the inspection that was cut short`() {
        learn()
        let lists = recalled()
        #expect(lists.add(["re"], of: app, 1))
        lists.inspectionWasLost(app, 1)
        #expect(recalled().add(["re"], of: app, 1))
    }

    @Test func `is outdated for the next daemon, too`() {
        learn()
        #expect(recalled().failed(app, 1, .ended))
        let lists = recalled()
        #expect(lists.add(["re"], of: app, 1, isBeginning: true))
        #expect(lists.recorded(of: app, 1) == ["re"])
    }

    @Test func `of times alone is not written with each launch`() throws {
        learn()
        let lists = recalled()
        let former = try text()
        var times = Self.times
        times.works[0].shallow = .milliseconds(70)
        lists.note(times, of: app, 1)
        #expect(try text() == former)
        #expect(lists.times(of: app, 1) == times)
        lists.write(app)
        #expect(recalled().times(of: app, 1) == times)
    }

    @Test func `of imports is for the daemon alone`() throws {
        learn()
        for path in ["", "/7", "/7/\(app).imports"] {
            var status = stat()
            #expect(stat(folder.path + "/state/learned" + path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0)
        }
    }

    /// The text that is replaced in the file, and its replacement.
    @Test(arguments: [
        ("end\n", ""), ("reads\tHOME\n", "reads\tHO"), ("basis 1\n", "basis one\n"),
        ("basis 1\n", ""), ("inspections 1\n", "inspections -1\n"),
        ("failures 0\n", "failures 99999999\n"), ("learned\n", "abandoned 255\n"),
    ])
    func `is learned again if the file makes no sense`(part: String, other: String) throws {
        learn()
        let text = try text()
        #expect(text.contains(part))
        var damaged = text.replacing(part, with: other)
        if other == "reads\tHO" {
            damaged = String(damaged[..<damaged.firstRange(of: other)!.upperBound])
        }
        _ = try folder.write(damaged, to: "state/learned/7/\(app).imports")
        let lists = recalled()
        #expect(lists.learned(for: app, 1) == nil && lists.wantsRecord(of: app, 1))
    }

    @Test func `takes no more from a file than from a process`() throws {
        learn()
        let many = (0...LearnedImports.Limit.names).map { "import\tm\($0)\t1\n" }.joined()
        _ = try folder.write(
            try text().replacing("learned\n", with: "learned\n" + many),
            to: "state/learned/7/\(app).imports")
        #expect(recalled().learned(for: app, 1) == nil)
        _ = try folder.write(
            "basis 1\nrecorded a\nrecorded !b\nrecorded b\u{e9}\nlearned\nimport\ta b\t1\nimport\tc\t1\nend\n",
            to: "state/learned/7/\(app).imports")
        #expect(recalled().recorded(of: app, 1) == ["a"])
        #expect(recalled().learned(for: app, 1)?.lines == ["c\t1"])
    }

    @Test(arguments: [
        "work 1 1 - 0", "times 1 1\nwork 1 -5 - 0", "times 1 1\nwork 1 5 - 1",
        "times 1 1\nwork 1 5 5 4", "times 1 1\nwork x 5 5 1",
        "times 1 1\nwork 1 3600000001 - 0", "cold 2 1",
        "times 1 1\ncold 1 -", "times 1 1\ncold 1 -1", "times 1 1\ncold x 1",
        "times 1 1\n" + String(repeating: "cold 1 1\n", count: 5),
        "times 1 1\n" + String(repeating: "work 1 1 - 0\n", count: 5),
    ])
    func `has no times that nobody can have measured`(text: String) {
        #expect(DepthTimes(text.split(separator: "\n")) == nil)
    }

    // MARK: Libraries

    @Test func `of libraries is the same for the next daemon`() throws {
        _ = try folder.write("1", to: "a b.so")
        _ = try folder.write("1", to: "c.so")
        let paths = ["a b.so", "c.so"].map { "\(folder.path)/\($0)" }
        let lesson = LibraryLesson(app: app, generation: 3, environmentKey: EnvironmentKey(4))
        let list = LibraryList(lesson, paths + [folder.path + "/gone.so"])
        #expect(list.libraries.map(\.path) == paths)
        var read = try #require(
            LibraryList.read(list.lines.map { Substring($0) }, of: app).first)
        #expect(read.isRecalled)
        read.keep { FileIdentity(path: $0.path) == $0.file }
        #expect(read == list)
        // Another file takes the place.
        unlink(paths[1])
        _ = try folder.write("22", to: "c.so")
        read.keep { FileIdentity(path: $0.path) == $0.file }
        #expect(read.libraries.map(\.path) == [paths[0]])
    }

    @Test func `has no libraries that no prewarm opens`() {
        let lines = ["list 1 2", "open 1 1 1 1 1 /a.so"]
        let bad = [
            "open 1 1 1 1 1 a.so", "open 1 1 1 1 1 /a:b.so", "open 1 1 1 1 1 /$ORIGIN/b.so",
            "open 1 1 1 1 /b.so", "open x 1 1 1 1 /b.so", "list 1", "open 1 1 1 1 1 /b\u{1}.so",
        ]
        let lists = LibraryList.read((lines + bad).map { Substring($0) }, of: app)
        #expect(lists.map { $0.libraries.map(\.path) } == [["/a.so"]])
        let many = (0..<300).map { "open 1 1 1 1 1 /\($0).so" }
        let most = LibraryList.read((lines + many).map { Substring($0) }, of: app)
        #expect(most.first?.libraries.count == OpenedLibraries.countLimit)
        #expect(LibraryList.read(["open 1 1 1 1 1 /a.so"], of: app).isEmpty)
    }

    // MARK: Digests

    @Test func `belongs to the same digests after a boot`() {
        #expect(files.secret == nil)
        let digest = KeyedDigest(secret: (3, 4))
        files.keep(digest)
        #expect(files.secret.map { KeyedDigest(secret: $0) } == digest)
        files.keep(KeyedDigest(secret: (5, 6)))
        #expect(files.secret?.0 == 5)
    }
}
