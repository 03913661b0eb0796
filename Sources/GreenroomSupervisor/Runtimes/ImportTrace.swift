/// What happened while a process loaded the recorded names, in order, as the C library and the
/// language's script saw it (`Sources/Runtimes/trace`). The fields of a line are separated by tabs:
///
///     begin NAME              a module begins, perhaps because the one in progress loads it
///     end NAME STAMP          it has ended; the stamp tells its file from another
///     fails NAME STAMP        it has ended with an error
///     needs NAME              the module in progress asks for one that is loaded
///     does REASON             it does what only a launch may
///     spares REASON           it does that too, and it is known to be harmless
///     opens PATH              it reads a file, or looks for one, that may be the user's
///     reads VARIABLE          it reads a variable; * stands for all
///     place FOLDER            modules are installed here
///     done                    the last line
struct ImportTrace {
    private enum Limit {
        /// Modules that are loaded: four times as many as may be recorded, because they load others.
        static let modules = 4096
        /// Folders of installed modules. Each file that is read is looked for in all of them.
        static let places = 64
        /// The longest known trace has 4,000.
        static let lines = 16 << 10
        /// At most this many are read without a pause for other work: a millisecond or two.
        static let linesInARow = 256
        /// In bytes, of one line: a path that a module looks for may be longer than a name.
        static let line = 4096 + 64
    }

    private var unread: ArraySlice<UInt8>
    private var lineCount = 0
    private var hasLongLine = false

    /// Why a module is not loaded before the pause, by the module's name.
    private var reasons: [String: String] = [:]
    private var spared: [String: String] = [:]
    private var importers: [String: Set<String>] = [:]
    private var readers: [String: Set<String>] = [:]
    private var stamps: [String: String] = [:]
    private var failed: Set<String> = []
    private var places: [String] = []
    private var inProgress: [String] = []

    /// - Returns: nil if the process did not write the trace to its end.
    init?(_ report: [UInt8]) {
        let end = [UInt8(ascii: "\n")] + report.suffix(6)
        guard end.suffix(6).elementsEqual("\ndone\n".utf8) else { return nil }
        unread = report[...]
    }

    /// Reads some lines. A user can make a trace as long as the memory for it allows.
    ///
    /// - Returns: whether there are more.
    mutating func readSome() -> Bool {
        for _ in 0..<Limit.linesInARow {
            guard let end = unread.firstIndex(of: UInt8(ascii: "\n")), isWithinLimits else {
                return false
            }
            // Divided as bytes, which takes half as long as by characters.
            hasLongLine = hasLongLine || end - unread.startIndex > Limit.line
            let fields = unread[..<end].prefix(Limit.line).split(
                separator: UInt8(ascii: "\t"), maxSplits: 3, omittingEmptySubsequences: false
            ).map { String(decoding: $0, as: UTF8.self) }
            unread = unread[(end + 1)...]
            lineCount += 1
            guard fields.count >= 2 else { continue }
            read(fields[0], fields[1], fields.count > 2 ? fields[2] : nil)
        }
        return true
    }

    private var isWithinLimits: Bool {
        stamps.count <= Limit.modules && places.count <= Limit.places && lineCount <= Limit.lines
            && !hasLongLine
    }

    private mutating func read(_ word: String, _ text: String, _ stamp: String?) {
        switch word {
        case "begin":
            note(needed: text)
            inProgress.append(text)
        case "end", "fails":
            if inProgress.last == text { inProgress.removeLast() }
            stamps[text] = stamp
            if word == "fails" { failed.insert(text) }
        case "needs": note(needed: text)
        case "does": refuse(for: text)
        case "spares": if let module = inProgress.last { spared[module] = text }
        case "opens":
            if !text.hasPrefix("/") {
                return refuse(for: "directory")
            }
            let path = (text + "/").utf8
            if !places.contains(where: { path.starts(with: $0.utf8) }) { refuse(for: "opens") }
        case "reads":
            if text == "*" || Self.perLaunch.contains(text) {
                refuse(for: "variables")
            } else if let module = inProgress.last {
                readers[text, default: []].insert(module)
            }
        case "place":
            guard text.hasPrefix("/"), text != "/", places.count <= Limit.places else { return }
            places.append(text + "/")
        case _: break
        }
    }

    private mutating func refuse(for reason: String) {
        guard let module = inProgress.last, reasons[module] == nil, spared[module] != reason
        else { return }
        reasons[module] = reason
    }

    private mutating func note(needed name: String) {
        guard let importer = inProgress.last, importer != name else { return }
        importers[name, default: []].insert(importer)
    }

    /// Which of the names may be loaded before the pause. If a module is refused, so is every
    /// module that loads it, because without it the importer would take another path. All lines
    /// must have been read.
    ///
    /// - Returns: nil if there is more than any inspection finds.
    func findings(
        for names: [String], excluding isExcluded: (String) -> Bool
    ) -> LearnedImports? {
        guard isWithinLimits else { return nil }
        var reasons = reasons
        for name in Set(names).union(stamps.keys) where isExcluded(name) {
            reasons[name] = "excluded"
        }
        var causes = Dictionary(uniqueKeysWithValues: reasons.keys.map { ($0, $0) })
        var queue = reasons.keys.sorted()
        while let name = queue.popLast() {
            for importer in (importers[name] ?? []).sorted() where causes[importer] == nil {
                causes[importer] = causes[name]
                queue.append(importer)
            }
        }
        var imports: [(name: String, stamp: String)] = []
        var refused: [LearnedImports.Refusal] = []
        for name in names {
            if let cause = causes[name] {
                refused.append(.init(name: name, reason: reasons[cause]!, cause: cause))
            } else if let stamp = stamps[name], !failed.contains(name) {
                imports.append((name, stamp))
            } else {
                refused.append(.init(name: name, reason: "fails", cause: name))
            }
        }
        let variables = readers.filter { !$0.value.allSatisfy { causes[$0] != nil } }.keys.sorted()
        return LearnedImports(imports: imports, refused: refused, variables: variables)
    }

    /// Variables that differ from launch to launch: with their values in the key, no launch would
    /// find an instance.
    private static let perLaunch: Set<String> = [
        "PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "LINES", "WINDOWID", "DESKTOP_STARTUP_ID",
        "XDG_ACTIVATION_TOKEN", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "GPG_TTY", "TMUX",
        "TMUX_PANE", "STY", "WINDOW", "INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET",
        "LISTEN_PID", "LISTEN_FDS",
    ]
}
