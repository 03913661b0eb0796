/// What happened while a process loaded the recorded names, in order, as the C library and the
/// language's script saw it (`Sources/Runtimes/trace`). The recorded names are the modules that the
/// program loads before it does anything else, in its order. A prewarm loads them up to the first
/// one that is refused. It has then done exactly what the program would have done, so no module
/// that is loaded later can notice a difference. The fields of a line are separated by tabs:
///
///     begin NAME              a module begins, perhaps because the one in progress loads it
///     end NAME STAMP          it has ended; the stamp tells its file from another
///     fails NAME STAMP        it has ended with an error
///     needs NAME              the module in progress asks for one that is loaded
///     does REASON             it does what only a launch may
///     spares REASON           it does that too, and it is known to be harmless
///     opens PATH              it reads a file, or looks for one, that may be the user's
///     data PATH STAMP         it reads an installed file, or looks for one in that folder ("-")
///     reads VARIABLE          it reads a variable; * stands for all, and ?terminal for the question
///                             whether a standard stream is a terminal (in traces of Node, this is
///                             ?QUESTION=MODULE)
///     first WORD FILE         the program requires this first (`node/beginning.cjs`), and it is this
///                             file or builtin module; "first -" ends these requires
///     takes NAME              the module in progress loads a builtin one that takes what others
///                             have at this moment, as only the first requires may
///     place FOLDER            modules are installed here
///     vouched NAME VERSION    a profile's distribution, in a version that the profile knows
///     unknown NAME VERSION    in another one; - if it was not found
///     done                    the last line
struct ImportTrace {
    private enum Limit {
        /// Modules that are loaded: four times as many as may be recorded, because they load others.
        static let modules = 4096
        /// Folders of installed modules. Each file that is read is looked for in all of them.
        static let places = 64
        /// Folders inside one another in which one file is looked for as a module.
        static let placesOfFile = 8
        /// Files that are read while modules are loaded: each is compared at every launch.
        static let data = 512
        /// The longest known trace has 4,000.
        static let lines = 16 << 10
        /// At most this many are read without a pause for other work: a millisecond or two.
        static let linesInARow = 256
        /// Steps from a module to one that it needs, and to each of its files and questions, in all
        /// groups together. npm takes 2,000 from module to module.
        static let steps = 32 << 10
        /// In bytes, of one line: a path that a module looks for may be longer than a name.
        static let line = 4096 + 64
    }

    private var unread: ArraySlice<UInt8>
    private var lineCount = 0
    private var hasLongLine = false

    /// Why a module is not loaded before the pause, by the module's name.
    private var reasons: [String: String] = [:]
    private var spared: [String: Set<String>] = [:]
    private var importers: [String: Set<String>] = [:]
    private var readers: [String: Set<String>] = [:]
    private var stamps: [String: String] = [:]
    private var failed: Set<String> = []
    private var places: [String] = []
    private var inProgress: [String] = []
    /// The modules in the order in which they began, each with the recorded name whose loading
    /// loaded the module.
    private var begun: [(name: String, root: String)] = []
    private var data: [File] = []
    private var version: LearnedImports.Version?
    /// What the program requires first, and the modules that may be loaded only then.
    private var first: [(word: String, file: String)] = []
    private var taking: Set<String> = []

    /// A file that is read while a module is loaded.
    private struct File {
        let path: String
        let stamp: String
        let root: String
        let module: String
        /// The path relative to each folder of installed modules that contains it. Each of these
        /// may be a module's name.
        let names: [String]
    }

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
            begun.append((text, inProgress[0]))
            if !LearnedImports.canList(text) { refuse(for: "opens") }
        case "end", "fails":
            if inProgress.last == text { inProgress.removeLast() }
            stamps[text] = stamp
            if word == "fails" { failed.insert(text) }
        case "needs": note(needed: text)
        case "does": refuse(for: text)
        case "spares":
            if let module = inProgress.last { spared[module, default: []].insert(text) }
        case "opens":
            if !text.hasPrefix("/") {
                return refuse(for: "directory")
            }
            let path = (text + "/").utf8
            if !places.contains(where: { path.starts(with: $0.utf8) }) { refuse(for: "opens") }
        case "data":
            guard let root = inProgress.first, let module = inProgress.last, let stamp else {
                return
            }
            // No list can contain this path, so no launch would compare the file.
            guard LearnedImports.canList("=" + text) else { return refuse(for: "opens") }
            // The folders of installed modules need no entry, because every hook watches them.
            guard !places.contains(text + "/") else { return }
            let names = places.lazy.filter { text.utf8.starts(with: $0.utf8) }
                .prefix(Limit.placesOfFile).map { String(text.dropFirst($0.count)) }
            data.append(
                File(path: text, stamp: stamp, root: root, module: module, names: Array(names)))
        case "reads":
            if text == "*" || Self.perLaunch.contains(text) {
                refuse(for: "variables")
            } else if text.first == "?", !LearnedImports.canList(text) {
                refuse(for: "arguments")
            } else if let module = inProgress.last {
                readers[text, default: []].insert(module)
            }
        case "first":
            guard let stamp, first.count <= Limit.modules else { return }
            first.append((text, stamp))
        case "takes":
            if let module = inProgress.last { taking.insert(module) }
        case "place":
            guard text.hasPrefix("/"), text != "/", places.count <= Limit.places,
                !places.contains(text + "/")
            else { return }
            places.append(text + "/")
        case "vouched", "unknown":
            guard let stamp else { return }
            version = .init(distribution: text, number: stamp, isKnown: word == "vouched")
        case _: break
        }
    }

    private mutating func refuse(for reason: String) {
        guard let module = inProgress.last, reasons[module] == nil,
            spared[module]?.contains(reason) != true
        else { return }
        reasons[module] = reason
    }

    private mutating func note(needed name: String) {
        guard let importer = inProgress.last, importer != name else { return }
        importers[name, default: []].insert(importer)
    }

    /// What may be loaded before the pause: the names up to the first that is refused, and what
    /// they load. A module that loads a refused module is refused too. All lines must have been
    /// read.
    ///
    /// - Returns: nil if the trace exceeds a limit, as no honest trace does.
    func findings(
        for names: [String], excluding isExcluded: (String) -> Bool
    ) -> LearnedImports? {
        guard isWithinLimits else { return nil }
        var reasons = reasons(for: names, excluding: isExcluded)
        for root in rootsWithTooMuchData { reasons[root] = reasons[root] ?? "opens" }
        let causes = causes(of: reasons)
        let possible = names.prefix {
            causes[$0] == nil && !failed.contains($0) && stamps[$0] != nil
        }
        let kept = possible.prefix(fittingCount(possible))
        let isCut = kept.count < possible.count
        var refused: [LearnedImports.Refusal] = []
        if let first = names.dropFirst(kept.count).first {
            let cause = causes[first] ?? first
            let reason = isCut ? "limit" : reasons[cause] ?? "fails"
            refused = [.init(name: first, reason: reason, cause: cause)]
            refused += names.dropFirst(kept.count + 1).map { name in
                causes[name].map { .init(name: name, reason: reasons[$0]!, cause: $0) }
                    ?? .init(name: name, reason: "order", cause: first)
            }
        }
        let roots = Set(kept)
        let keptModules = Set(begun.filter { roots.contains($0.root) }.map(\.name))
        let asked = asked(by: keptModules)
        let questions = asked.filter { $0.first == "?" }.map { (name: $0, stamp: "-") }
        return LearnedImports(
            imports: imports(of: roots) + questions, refused: refused,
            variables: asked.filter { $0.first != "?" }, version: version)
    }

    /// Why modules are refused: for what they did, or because the manifest excludes them.
    private func reasons(
        for names: [String], excluding isExcluded: (String) -> Bool
    ) -> [String: String] {
        var reasons = reasons
        for name in Set(names).union(stamps.keys) where isExcluded(name) {
            reasons[name] = "excluded"
        }
        return reasons
    }

    /// The variables that the modules read, and their questions.
    private func asked(by modules: Set<String>) -> [String] {
        readers.filter { !$0.value.isDisjoint(with: modules) }.keys.sorted()
    }

    /// What may be loaded before the pause if the hook hides each module until the program asks for
    /// the module (`node/learned.cjs`). The modules form groups: a module and all that it needs. No
    /// group contains a refused module. The program may ask for the groups in any order, or for
    /// only some of them, so no two groups have a module in common: one group could have changed
    /// that module for the other.
    func findingsInGroups(
        for names: [String], excluding isExcluded: (String) -> Bool
    ) -> LearnedImports? {
        guard isWithinLimits else { return nil }
        var reasons = reasons(for: names, excluding: isExcluded)
        for name in failed { reasons[name] = reasons[name] ?? "fails" }
        let (needed, questions) = (needed, questions)
        // The hook itself watches the descriptions of packages.
        let files = Dictionary(
            grouping: otherFiles.filter { !$0.path.hasSuffix("/package.json") }, by: \.module)
        var (imports, paths): ([(name: String, stamp: String)], Set<String>) = ([], [])
        var (byteCount, steps) = (0, 0)
        var (listed, refused): (Set<String>, [LearnedImports.Refusal]) = ([], [])
        /// Adds the modules to the list, if it can have them as well.
        func add(_ group: [String], beginning: [(name: String, stamp: String)] = []) -> Bool {
            // If the group is refused, the next name may need the same modules.
            steps += group.reduce(0) {
                $0 + (files[$1]?.count ?? 0) + (questions[$1]?.count ?? 0)
            }
            guard steps < Limit.steps else { return false }
            // Only files that these modules read are listed: a file that only a refused module
            // reads may change with each run.
            var morePaths = paths
            let moreFiles = group.flatMap { files[$0] ?? [] }.filter {
                morePaths.insert($0.path).inserted
            }
            let more =
                beginning + moreFiles.map { (name: "=" + $0.path, stamp: $0.stamp) }
                + group.map { (name: $0, stamp: stamps[$0]!) }
                + group.flatMap { questions[$0] ?? [] }.map { (name: $0, stamp: "-") }
            let moreBytes = LearnedImports.byteCount(of: more)
            guard
                morePaths.count <= Limit.data,
                LearnedImports.fits(
                    count: imports.count + more.count, byteCount: byteCount + moreBytes)
            else { return false }
            imports += more
            paths = morePaths
            byteCount += moreBytes
            listed.formUnion(group)
            return true
        }
        let (begins, modules) = beginning(causes(of: reasons), needed, &steps)
        if !begins.isEmpty { _ = add(modules, beginning: begins) }
        for name in taking.subtracting(listed) { reasons[name] = reasons[name] ?? "known" }
        let causes = causes(of: reasons)
        for name in names where !listed.contains(name) {
            func refuse(for reason: String, _ cause: String) {
                refused.append(.init(name: name, reason: reason, cause: cause))
            }
            if let cause = causes[name] {
                refuse(for: reasons[cause]!, cause)
                continue
            }
            let group = group(of: name, needed, &steps)
            if let shared = group.first(where: listed.contains) {
                refuse(for: "shared", shared)
                continue
            }
            if let missing = group.first(where: { stamps[$0] == nil }) {
                refuse(for: "fails", missing)
                continue
            }
            if !add(group) { refuse(for: "limit", name) }
        }
        imports += compiled(of: names.filter { !listed.contains($0) }, reasons, beside: imports)
        return LearnedImports(
            imports: imports, refused: refused,
            variables: asked(by: listed).filter { $0.first != "?" })
    }

    /// What the program must require first for this list: the requires up to the last one that loads
    /// a builtin module which takes what others have; and the modules that they load. No module of
    /// theirs is refused. All of them come in the program's order, so they may share modules.
    private func beginning(
        _ causes: [String: String], _ needed: [String: [String]], _ steps: inout Int
    ) -> (lines: [(name: String, stamp: String)], modules: [String]) {
        var (lines, modules): ([(name: String, stamp: String)], [String]) = ([], [])
        var (lineCount, moduleCount) = (0, 0)
        var seen: Set<String> = []
        for (word, file) in first {
            let group = group(of: file, needed, &steps)
            let line = "?begins:" + word + (file.first == "/" ? "=" + file : "")
            guard steps < Limit.steps, LearnedImports.canList(line),
                group.allSatisfy({ causes[$0] == nil && stamps[$0] != nil })
            else { break }
            lines.append((line, "-"))
            modules += group.filter { $0.first == "/" && seen.insert($0).inserted }
            guard !taking.isDisjoint(with: group) else { continue }
            (lineCount, moduleCount) = (lines.count, modules.count)
        }
        return (Array(lines.prefix(lineCount)), Array(modules.prefix(moduleCount)))
    }

    /// The lines of modules that are compiled before the pause and run at the launch, of those that
    /// are not loaded before the pause: all that one list can have. Another file may be compiled
    /// than was inspected, so there is no stamp.
    private func compiled(
        of names: [String], _ reasons: [String: String],
        beside others: [(name: String, stamp: String)]
    ) -> [(name: String, stamp: String)] {
        var (count, byteCount) = (others.count, LearnedImports.byteCount(of: others))
        var (found, seen): ([(name: String, stamp: String)], Set<String>) = ([], [])
        for name in names where reasons[name] != "excluded" && seen.insert(name).inserted {
            guard stamps[name] != nil, name.first == "/", LearnedImports.canList("~" + name),
                ![".json", ".node", ".mjs"].contains(where: name.hasSuffix)
            else { continue }
            let line = (name: "~" + name, stamp: "-")
            (count, byteCount) = (count + 1, byteCount + LearnedImports.byteCount(of: [line]))
            guard LearnedImports.fits(count: count, byteCount: byteCount) else { break }
            found.append(line)
        }
        return found
    }

    /// The questions that each module asks.
    private var questions: [String: [String]] {
        var questions: [String: [String]] = [:]
        for (question, modules) in readers.sorted(by: { $0.key < $1.key })
        where question.first == "?" {
            for module in modules { questions[module, default: []].append(question) }
        }
        return questions
    }

    /// The modules that each one asks for.
    private var needed: [String: [String]] {
        var needed: [String: [String]] = [:]
        for (name, importers) in importers {
            for importer in importers { needed[importer, default: []].append(name) }
        }
        return needed
    }

    /// The module, first, and all that it needs.
    private func group(
        of name: String, _ needed: [String: [String]], _ steps: inout Int
    ) -> [String] {
        var (group, found) = ([name], Set([name]))
        var next = 0
        while next < group.count, steps < Limit.steps {
            let others = (needed[group[next]] ?? []).sorted()
            group += others.filter { found.insert($0).inserted }
            steps += others.count + 1
            next += 1
        }
        return group
    }

    /// The contents of a list that loads these names: all modules that they load, and the files
    /// that are read meanwhile.
    private func imports(of roots: Set<String>) -> [(name: String, stamp: String)] {
        var listed: Set<String> = []
        return begun.filter { name, root in
            roots.contains(root) && !failed.contains(name) && stamps[name] != nil
                && listed.insert(name).inserted
        }.map { (name: $0.name, stamp: stamps[$0.name]!) }
            + files(of: roots).map { (name: "=" + $0.path, stamp: $0.stamp) }
    }

    /// How many of the names, counted from the first, fit into one list together with everything
    /// that they load.
    private func fittingCount(_ names: ArraySlice<String>) -> Int {
        var (fitting, tooMany) = (0, names.count + 1)
        while tooMany - fitting > 1 {
            let count = (fitting + tooMany) / 2
            if LearnedImports.fits(imports(of: Set(names.prefix(count)))) {
                fitting = count
            } else {
                tooMany = count
            }
        }
        return fitting
    }

    /// For each refused module, the module that is to blame: itself, or one that it loads.
    private func causes(of reasons: [String: String]) -> [String: String] {
        var causes = Dictionary(uniqueKeysWithValues: reasons.keys.map { ($0, $0) })
        var queue = reasons.keys.sorted()
        while let name = queue.popLast() {
            for importer in (importers[name] ?? []).sorted() where causes[importer] == nil {
                causes[importer] = causes[name]
                queue.append(importer)
            }
        }
        return causes
    }

    /// Files that are read, apart from the modules themselves and their folders, which every hook
    /// watches.
    private var otherFiles: [File] {
        let folders = Set(
            stamps.keys.compactMap { name in name.lastIndex(of: "/").map { name[..<$0] } })
        return data.filter { file in
            !folders.contains(file.path[...])
                && !([file.path] + file.names).contains { stamps[$0] != nil }
        }
    }

    /// The files of `otherFiles` that are read while these names are loaded, each once.
    private func files(of roots: Set<String>) -> [File] {
        var paths: Set<String> = []
        return otherFiles.filter { roots.contains($0.root) && paths.insert($0.path).inserted }
    }

    private var rootsWithTooMuchData: Set<String> {
        Set(files(of: Set(begun.map(\.root))).dropFirst(Limit.data).map(\.root))
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
