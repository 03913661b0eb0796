/// What instances of an app import before their pause, because launches of the app import it. The
/// inspection of imports (`python/inspect_imports.py`, `ImportTrace`) has found that this changes
/// nothing for a launch.
///
/// All of it comes from processes of the app's user, who may have written anything: there are
/// limits, and it is used for this user's prewarms of this app alone.
struct LearnedImports: Hashable, Sendable {
    /// A module that launches import and a prewarm does not.
    struct Refusal: Hashable, Sendable {
        let name: String
        /// The inspection's word for it (`python/inspect_imports.py`).
        let reason: String
        /// The module that does what the reason says: this one, or one that it imports.
        let cause: String
    }

    /// The lines for the hook, in the order of the imports: a name, a tab, and a stamp that tells
    /// the module's file from another one. After them, such lines about other files that the
    /// modules read, with = before the path, about modules that are only compiled, with ~ before
    /// the path, and lines that begin with ?: calls of functions with their values, and ?terminal
    /// if the imports have asked whether a standard stream is a terminal and found none (the hook
    /// starts a launch with a terminal anew). Between the modules, ?begins: and a word of
    /// `python/beginning.py`: what the program must import first. Node's list begins with such lines
    /// (`node/beginning.cjs`), which go on with = and the file that the word means.
    let lines: [String]
    /// Whether it is only for programs that begin with certain imports.
    var hasBeginning: Bool { lines.contains { $0.hasPrefix("?begins:") } }
    let refused: [Refusal]
    /// The variables that the imports read. They must be the same at a launch.
    let variables: [String]
    /// The version of a profile's distribution that was found, and whether the profile knows it;
    /// nil if no profile was asked.
    let version: Version?

    struct Version: Hashable, Sendable {
        let distribution: String
        /// `-` if the distribution was not found, `*` if imports would not find its modules.
        let number: String
        let isKnown: Bool
    }

    /// The version for which a profile has vouched for some modules; nil if none has.
    var vouched: Version? { version.flatMap { $0.isKnown ? $0 : nil } }

    enum Limit {
        /// As many names as `Imports=` may have.
        static let names = 1024
        /// The bytes of one name of a module or a variable. Ruby's names are paths.
        static let name = 512
        /// The bytes of all lines for the hook together. They are one variable of the prewarm,
        /// which may have 128 KiB (execve(2)).
        static let lines = 96 << 10
        /// Ansible reads 190.
        static let variables = 512
        /// The bytes of an inspection's report, which is read at once.
        static let report = 512 << 10
        /// The bytes of an inspection's trace, which is read bit by bit. The longest known trace, of
        /// two gems with 447 files, has 550 kB.
        static let trace = 2 << 20
    }

    /// Reads the report of an inspection. Leaves out lines that no inspection can have written.
    ///
    /// - Returns: nil if there is more than any inspection finds.
    init?(report: some Sequence<UInt8>) {
        var imports: [(name: String, stamp: String)] = []
        var (refused, variables): ([Refusal], [String]) = ([], [])
        var version: Version?
        for line in String(decoding: Array(report), as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
                .map(String.init)
            switch fields.first {
            case "import" where fields.count == 3: imports.append((fields[1], fields[2]))
            case "refused" where fields.count == 4:
                refused.append(Refusal(name: fields[1], reason: fields[2], cause: fields[3]))
            case "reads" where fields.count == 2: variables.append(fields[1])
            case "vouched" where fields.count == 3, "unknown" where fields.count == 3:
                version = Version(
                    distribution: fields[1], number: fields[2], isKnown: fields[0] == "vouched")
            case _: continue
            }
        }
        self.init(
            imports: imports, refused: refused, variables: variables, version: version)
    }

    /// Leaves out what no inspection can have found.
    ///
    /// - Returns: nil if there is more than any inspection finds.
    init?(
        imports: [(name: String, stamp: String)], refused: [Refusal], variables: [String],
        version: Version? = nil
    ) {
        lines = imports.filter { Self.isModule($0.name[...]) && Self.isStamp($0.stamp[...]) }
            .map { "\($0.name)\t\($0.stamp)" }
        self.refused = refused.filter {
            Self.isModule($0.name[...]) && Self.isWord($0.reason[...])
                && Self.isModule($0.cause[...])
        }
        self.variables = variables.filter { Self.isVariable($0[...]) }
        self.version = version.flatMap {
            Self.isModule($0.distribution[...]) && Self.isModule($0.number[...]) ? $0 : nil
        }
        guard lines.count <= Limit.names, self.refused.count <= Limit.names,
            lines.reduce(0, { $0 + $1.utf8.count + 1 }) <= Limit.lines,
            self.variables.count <= Limit.variables
        else { return nil }
    }

    /// Whether one list can contain all these imports.
    static func fits(_ imports: [(name: String, stamp: String)]) -> Bool {
        fits(count: imports.count, byteCount: byteCount(of: imports))
    }

    static func fits(count: Int, byteCount: Int) -> Bool {
        count <= Limit.names && byteCount <= Limit.lines
    }

    /// The number of bytes that these imports take in a list.
    static func byteCount(of imports: [(name: String, stamp: String)]) -> Int {
        imports.reduce(0) { $0 + $1.name.utf8.count + $1.stamp.utf8.count + 2 }
    }

    /// The names of the modules alone.
    var names: [String] {
        lines.filter { !"=?~".contains($0.first!) }.map { String($0.prefix { $0 != "\t" }) }
    }

    /// How many modules are only compiled.
    var compiledCount: Int { lines.count { $0.first == "~" } }

    /// A report from which ``init(report:)`` makes the same list.
    var report: [String] {
        var report =
            lines.map { "import\t\($0)" }
            + refused.map { "refused\t\($0.name)\t\($0.reason)\t\($0.cause)" }
            + variables.map { "reads\t\($0)" }
        if let version {
            let word = version.isKnown ? "vouched" : "unknown"
            report.append("\(word)\t\(version.distribution)\t\(version.number)")
        }
        return report
    }

    /// The names in a record of a launch: only what may be a name, and no more than can be
    /// inspected.
    static func names(inRecord text: String) -> [String] {
        Array(text.split(separator: "\n").filter(isModule).prefix(Limit.names).map(String.init))
    }

    /// Whether a line of a list can begin with this name. Other names are left out.
    static func canList(_ name: String) -> Bool { isModule(name[...]) }

    /// A module's name has no space and none of the characters that begin other lines of a list.
    private static func isModule(_ name: Substring) -> Bool {
        isName(name) { (0x21...0x7e).contains($0) } && !"!#@+<>^".contains(name.first!)
    }

    private static func isVariable(_ name: Substring) -> Bool {
        isName(name) { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "=") }
    }

    private static func isStamp(_ text: Substring) -> Bool {
        text == "-" || isName(text) { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isWord(_ text: Substring) -> Bool {
        isName(text) { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }

    private static func isName(_ text: Substring, _ isAllowed: (UInt8) -> Bool) -> Bool {
        (1...Limit.name).contains(text.utf8.count) && text.utf8.allSatisfy(isAllowed)
    }
}
