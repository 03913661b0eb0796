internal import UnitFile

/// Reads `[Sandbox]` and `[Resources]`. A key of systemd.exec(5) that is not supported is an error,
/// so that an app is never less confined than its manifest says.
extension Sandbox {
    static let section = "Sandbox"
    /// At most this many paths in one list. Nobody lists more by hand.
    static let pathLimit = 48

    static func read(_ reader: inout SectionReader) -> Sandbox {
        var sandbox = Sandbox()
        reader.refuseUnsupported()
        // Before [Sandbox] existed, this key was in [App], where it is still accepted.
        let inApp = reader.last("App", "NoNewPrivileges", boolean)
        sandbox.noNewPrivileges =
            reader.last(section, "NoNewPrivileges", boolean) ?? inApp ?? false
        sandbox.readProtection(&reader)
        sandbox.readPaths(&reader)
        sandbox.readCapabilities(&reader)
        sandbox.calls = CallRules.read(&reader)
        sandbox.settings = reader.settings(of: section)
        if sandbox.noNewPrivileges, sandbox.settings.isEmpty {
            sandbox.settings = ["NoNewPrivileges=yes"]
        }
        return sandbox
    }

    private mutating func readProtection(_ reader: inout SectionReader) {
        func flag(_ key: String) -> Bool { reader.last(Self.section, key, boolean) ?? false }
        protectsSystem =
            reader.last(Self.section, "ProtectSystem") { value throws(ValueError) in
                try value.choiceOrBoolean(System.self, yes: .yes, no: .no)
            } ?? .no
        protectsHome =
            reader.last(Self.section, "ProtectHome") { value throws(ValueError) in
                try value.choiceOrBoolean(Home.self, yes: .yes, no: .no)
            } ?? .no
        hasPrivateTmp = flag("PrivateTmp")
        hasPrivateNetwork = flag("PrivateNetwork")
        hasPrivateDevices = flag("PrivateDevices")
        protectsHostname = flag("ProtectHostname")
        protectsKernelTunables = flag("ProtectKernelTunables")
        protectsKernelModules = flag("ProtectKernelModules")
        protectsKernelLogs = flag("ProtectKernelLogs")
        protectsClock = flag("ProtectClock")
        protectsControlGroups = flag("ProtectControlGroups")
        mayControl = flag("ControlSocket")
    }

    private mutating func readPaths(_ reader: inout SectionReader) {
        func paths(_ key: String) -> [Path] {
            reader.list(Self.section, key, atMost: Self.pathLimit) { word throws(ValueError) in
                try Self.path(word.text)
            }
        }
        readOnlyPaths = paths("ReadOnlyPaths")
        readWritePaths = paths("ReadWritePaths")
        inaccessiblePaths = paths("InaccessiblePaths")
        temporaryFileSystems = paths("TemporaryFileSystem")
        for (key, isReadOnly) in [("BindPaths", false), ("BindReadOnlyPaths", true)] {
            binds += reader.list(Self.section, key, atMost: Self.pathLimit) {
                word throws(ValueError) in try Self.bind(word.text, isReadOnly: isReadOnly)
            }
        }
    }

    private static func path(_ text: String) throws(ValueError) -> Path {
        let isOptional = text.hasPrefix("-")
        let name = isOptional ? String(text.dropFirst()) : text
        if name.hasPrefix("+") {
            throw ValueError(message: "'+' is not supported: there is no RootDirectory=")
        }
        return Path(path: try normal(name), isOptional: isOptional)
    }

    private static func bind(_ text: String, isReadOnly: Bool) throws(ValueError) -> Bind {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2 else {
            throw ValueError(
                message: "'\(Names.cut(text))': write SOURCE or SOURCE:DESTINATION; "
                    + "options are not supported")
        }
        let source = try path(String(parts[0]))
        let destination = parts.count == 2 ? try normal(String(parts[1])) : source.path
        return Bind(
            source: source.path, destination: destination, isOptional: source.isOptional,
            isReadOnly: isReadOnly)
    }

    /// Checks that a path is absolute and has no `..`, so that paths can be compared as text.
    private static func normal(_ text: String) throws(ValueError) -> String {
        let path = try Names.path(text)
        if path.contains(":") {
            throw ValueError(message: "'\(Names.cut(text))': options are not supported")
        }
        let parts = path.split(separator: "/").filter { $0 != "." }
        return "/" + parts.joined(separator: "/")
    }

    private mutating func readCapabilities(_ reader: inout SectionReader) {
        let none: UInt64? = nil
        // For this key, an empty assignment means the empty set, not the default.
        capabilityBoundingSet = reader.fold(Self.section, "CapabilityBoundingSet", none) {
            set, value throws(ValueError) in try Self.merge(value, into: &set)
        }
        let ambient = reader.fold(Self.section, "AmbientCapabilities", none) {
            set, value throws(ValueError) in
            try Self.merge(value, into: &set)
            // For this key, the empty set is the default, so the next line sets the whole value.
            if set == 0 { set = nil }
        }
        ambientCapabilities = ambient ?? 0
    }

    /// Merges lines as systemd does: `A B` adds and `~A B` removes. An empty line, `~` alone and a
    /// line while `set` is nil set the whole value.
    private static func merge(_ value: Value, into set: inout UInt64?) throws(ValueError) {
        let (isInverted, words) = try value.invertibleWords()
        let bits = try SandboxWords.capabilities(words)
        guard let former = set, bits != 0 else {
            set = isInverted ? ~bits : bits
            return
        }
        set = isInverted ? former & ~bits : former | bits
    }
}

extension Resources {
    static let section = "Resources"

    static func read(_ reader: inout SectionReader) -> Resources {
        var resources = Resources()
        resources.memoryMax = reader.last(section, "MemoryMax", isLiteral: true, amount)
        resources.memoryHigh = reader.last(section, "MemoryHigh", isLiteral: true, amount)
        resources.tasksMax = reader.last(section, "TasksMax") { value throws(ValueError) in
            value.text == "infinity" ? .max : UInt64(try value.integer(1...Int.max))
        }
        resources.cpuWeight = reader.last(section, "CPUWeight") { value throws(ValueError) in
            try value.integer(1...10_000)
        }
        resources.settings = reader.settings(of: section)
        return resources
    }

    /// Reads an amount. Specifiers are not resolved, so that the error about `10%` is about
    /// percentages and not about `%%`.
    private static func amount(_ value: Value) throws(ValueError) -> UInt64 {
        if value.text == "infinity" { return .max }
        if value.text.hasSuffix("%") {
            throw ValueError(message: "a share of the memory is not supported; give a size")
        }
        return try value.bytes()
    }
}

extension SectionReader {
    fileprivate func settings(of section: String) -> [String] {
        unit.sections.filter { $0.name == section }.flatMap(\.assignments)
            .filter { !$0.key.hasPrefix("X-") }.map { "\($0.key)=\($0.value.text)" }
    }
}

extension Value {
    /// Reads one of a set of words. Any spelling of a Boolean counts as `yes` or `no`.
    fileprivate func choiceOrBoolean<Choice: RawRepresentable & CaseIterable>(
        _: Choice.Type, yes: Choice, no: Choice
    ) throws(ValueError) -> Choice where Choice.RawValue == String {
        if let choice = Choice(rawValue: text) { return choice }
        if let isYes = try? boolean() { return isYes ? yes : no }
        return try choice(Choice.self)
    }

    /// The words, and whether the first of them has the prefix `~`.
    func invertibleWords() throws(ValueError) -> (isInverted: Bool, words: [Word]) {
        var words = try self.words()
        guard text.hasPrefix("~") else { return (false, words) }
        if words[0].text == "~" {
            words.removeFirst()
        } else {
            words[0].text.removeFirst()
        }
        return (true, words)
    }
}
