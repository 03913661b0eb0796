internal import UnitFile

/// Reads the keys that need more than one expression.
extension AppManifest {
    static func readIdentifier(
        _ reader: inout SectionReader, _ name: ManifestName, _ context: ManifestContext
    ) -> (String?, Position) {
        let value = reader.unit.last("App", "Identifier")
        let read = reader.last("App", "Identifier") { value throws(ValueError) in
            guard name.instance == nil else {
                throw ValueError(message: "the file's name identifies a template and its instances")
            }
            return try Names.identifier(value.text)
        }
        if let value { return (read, value.position) }
        let start = Position(line: 1, column: 1)
        // A desktop entry's name need not be reverse-DNS.
        if context.hasDesktopEntry?(name.identifier) == true { return (name.identifier, start) }
        do throws(ValueError) {
            return (try ManifestName.identifier(name.identifier), start)
        } catch {
            reader.error(
                start, "\(error.message); rename the file or set Identifier= in [App]")
            return (nil, start)
        }
    }

    static func readCommand(
        _ reader: inout SectionReader, _ identifier: String?, _ context: ManifestContext
    ) -> [String]? {
        let hasSection = reader.unit.sections.contains { $0.name == "App" }
        let isSet = reader.unit.last("App", "Exec") != nil
        guard let (words, value) = reader.words("App", "Exec") else {
            if let identifier, !isSet, context.hasDesktopEntry?(identifier) == true { return [] }
            if hasSection && !isSet {
                reader.error(
                    reader.position(of: "App"),
                    "[App] has no Exec=; set it to a program and its arguments")
            }
            return nil
        }
        do throws(ValueError) { return try command(words, context) } catch {
            reader.report(error, of: "Exec", in: value)
            return nil
        }
    }

    private static func command(
        _ words: [Word], _ context: ManifestContext
    ) throws(ValueError) -> [String] {
        guard words.count <= Limit.commandWords else {
            throw ValueError(
                offset: words[Limit.commandWords].offset,
                message: "more than \(Limit.commandWords) words")
        }
        guard let program = words.first, !program.text.isEmpty else {
            throw ValueError(message: "the program is missing")
        }
        return [try executable(program.text, context.findExecutable)]
            + words.dropFirst().map(\.text)
    }

    private static func executable(
        _ program: String, _ findExecutable: ((String) -> String?)?
    ) throws(ValueError) -> String {
        if program.hasPrefix("/") { return try Names.bounded(program) }
        guard !program.contains("/") else {
            throw ValueError(
                message: "'\(Names.cut(program))' is relative; give an absolute path, or a name "
                    + "to be looked up in PATH")
        }
        guard let findExecutable else { return program }
        guard let path = findExecutable(program) else {
            throw ValueError(
                message: "no program '\(Names.cut(program))' in PATH; install it or give an "
                    + "absolute path")
        }
        return path
    }

    static func readForegroundGroup(_ value: Value) throws(ValueError) -> ForegroundGroup {
        if value.text == "none" { return .none }
        if value.text == "session" { return .session }
        let isName =
            value.text.utf8.count <= 64
            && value.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        guard isName else {
            throw ValueError(
                message:
                    "'\(Names.cut(value.text))' is not a foreground group: session, none, or a word of "
                    + "at most 64 printable ASCII characters")
        }
        return .named(value.text)
    }

    /// `[Prewarm]`: what to prewarm, and when.
    public struct Prewarm: Hashable, Sendable {
        /// `Depth=`; `auto` for a program and `application-main` for an SDK app unless set.
        public var depth: Depth
        /// `Runtime=`: the interpreter that runs the program.
        public var runtime: Runtime
        /// `Imports=`: what the interpreter loads before the pause, in this order.
        public var imports: [String]
        /// False with `Imports=none` or a list: then nothing is learned from launches.
        public var learnsImports: Bool
        /// `ImportsExclude=`: what the interpreter does not load before the pause, whatever
        /// launches teach.
        public var importsExclude: [String]
        /// `Count=`: how many paused instances to keep.
        public var count: Int
        /// `When=`
        public var occasion: Occasion
        /// `TimeToLiveSec=`; nil means the daemon's setting.
        public var timeToLive: Duration?
        /// `EnvironmentKeys=`: variables that the program reads before main, in addition to the
        /// usual ones. If one of them differs, a launch cannot use a paused instance.
        public var environmentKeys: [String]
        /// `SetCommandLine=`: whether /proc/PID/cmdline is set at launch, which costs about 40 µs.
        public var setsCommandLine: Bool
    }

    static func readPrewarm(
        _ reader: inout SectionReader, _ kind: Kind, _ context: ManifestContext
    ) -> Prewarm {
        let section = "Prewarm"
        let depths: [Depth] =
            kind == .applicationKit
            ? [.none, .applicationMain]
            : [.none, .main, .libraries, .runtime, .window, .declared, .auto]
        let depth = reader.last(section, "Depth") { value throws(ValueError) in
            let depth = try value.choice(Depth.self)
            guard depths.contains(depth) else {
                throw ValueError(
                    message: "Type=\(kind.rawValue) can be prewarmed to "
                        + "\(depths.map(\.rawValue).joined(separator: ", ")), not to "
                        + depth.rawValue)
            }
            return depth
        }
        let runtime = reader.last(section, "Runtime") { value throws(ValueError) in
            try value.choice(Runtime.self)
        }
        let imports = readImports(&reader, section, "Imports")
        let importsExclude = readImports(&reader, section, "ImportsExclude")
        let count = reader.last(section, "Count") { value throws(ValueError) in
            try value.integer(0...Limit.prewarmCount)
        }
        let occasion = reader.last(section, "When") { value throws(ValueError) in
            try value.choice(Occasion.self)
        }
        // A manifest that gives a count wants instances paused in any case.
        let usual = count == nil ? context.defaultOccasion : .boot
        let timeToLive = reader.last(section, "TimeToLiveSec", positiveDuration)
        let environmentKeys = reader.list(
            section, "EnvironmentKeys", atMost: Limit.environmentKeys
        ) { word throws(ValueError) in try Names.variable(word.text) }
        let setsCommandLine = reader.last(section, "SetCommandLine", boolean)
        return Prewarm(
            depth: depth ?? depths.last!, runtime: runtime ?? .auto,
            imports: imports.filter { $0 != "none" },
            learnsImports: imports.isEmpty, importsExclude: importsExclude,
            count: count ?? 1, occasion: occasion ?? usual,
            timeToLive: timeToLive, environmentKeys: environmentKeys,
            setsCommandLine: setsCommandLine ?? true)
    }
}

extension AppManifest {
    fileprivate static func readImports(
        _ reader: inout SectionReader, _ section: String, _ key: String
    ) -> [String] {
        var byteCount = 0
        return reader.list(section, key, atMost: Limit.imports) { word throws(ValueError) in
            byteCount += word.text.utf8.count + 1
            guard byteCount <= Limit.importBytes else {
                throw ValueError(message: "more than \(Limit.importBytes) bytes of names")
            }
            return try Names.module(word.text)
        }
    }
}

// MARK: - Readers that several keys share

func boolean(_ value: Value) throws(ValueError) -> Bool { try value.boolean() }

func account(_ value: Value) throws(ValueError) -> String { try Names.account(value.text) }

func duration(_ value: Value) throws(ValueError) -> Duration { try value.duration() }

func positiveDuration(_ value: Value) throws(ValueError) -> Duration {
    let duration = try value.duration()
    guard duration > .zero else {
        throw ValueError(message: "must be more than 0; infinity waits for ever")
    }
    return duration
}
