public import UnitFile

/// What is known about programs: whether a desktop program may be held at its first window without
/// a manifest that asks for it, and which modules of a tool may be imported before a pause. Each
/// program was tried, because only a trial shows what it does before that.
public struct Profile: Hashable, Sendable {
    /// The suffix of a profile's file name.
    public static let fileSuffix = ".conf"

    public var file: String
    /// The file's name without suffix: if the program may be held, the identifier of its app.
    public var identifier: String
    /// `Program=`: absolute paths; for programs that are never held, and for tools, also bare names.
    public var programs: [String]
    /// `Window=`; nil if the profile is about a tool.
    public var window: Window?
    /// `Display=`: where the program may be held.
    public var display: Display
    /// `Version=`, `Vouch=`, `Answer=`, `AtPause=`, `AtLaunch=`, `Require=`
    public var vouching: Vouching?
    /// `Reason=`: why the programs are not held, for people.
    public var reason: String?
    /// `Tested=`: the versions with which the program was tried.
    public var tested: String?

    public enum Window: String, CaseIterable, Sendable {
        case yes
        /// This profile does not allow holding. It replaces a profile of the same name in a later
        /// folder.
        case no
        /// No profile can allow holding, and a manifest that asks for it gets a warning.
        case never
    }

    public enum Display: String, CaseIterable, Sendable {
        case any
        /// Not held as a client of a Wayland compositor.
        case x11
    }

    /// Limits on what the daemon keeps.
    public enum Limit {
        public static let programs = 256
        public static let fileBytes = 64 << 10
    }

    /// Reads a profile. Returns none if there is any error.
    public static func parse(
        _ bytes: [UInt8], file: String
    ) -> (profile: Profile?, diagnostics: [Diagnostic]) {
        var reader = SectionReader(bytes, file: file)
        let section = "Profile"
        let window = reader.last(section, "Window") { value throws(ValueError) in
            try value.choice(Window.self)
        }
        let display = reader.last(section, "Display") { value throws(ValueError) in
            try value.choice(Display.self)
        }
        let vouching = Vouching(&reader, section)
        let programs = reader.list(section, "Program", atMost: Limit.programs) {
            word throws(ValueError) in
            guard window == .never || window == nil || word.text.hasPrefix("/") else {
                throw ValueError(
                    message: "“\(word.text)” is not an absolute path; a program that may be held "
                        + "is named by its path")
            }
            return word.text
        }
        let reason = reader.last(section, "Reason") { $0.text }
        let tested = reader.last(section, "Tested") { $0.text }
        reader.reportUnknown()
        if window == nil, vouching == nil {
            reader.error(
                reader.position(of: section),
                "there is no Window=, Vouch= or Require= in [\(section)]")
        } else if window != nil, vouching != nil {
            reader.error(
                reader.position(of: section), "Window= and Version= are not for the same program")
        }
        if display != nil, window != .yes {
            reader.error(reader.position(of: section), "Display= needs Window=yes")
        }
        if programs.isEmpty, window != .no {
            reader.error(reader.position(of: section), "there is no Program= in [\(section)]")
        }
        if window == .never, reason == nil {
            reader.error(reader.position(of: section), "Window=never needs a Reason=")
        }
        guard !reader.hasErrors else { return (nil, reader.sortedDiagnostics()) }
        let name = file.split(separator: "/").last ?? ""
        return (
            Profile(
                file: file, identifier: String(name.dropLast(fileSuffix.count)),
                programs: programs, window: window, display: display ?? .any,
                vouching: vouching, reason: reason, tested: tested),
            reader.sortedDiagnostics()
        )
    }

    /// Whether the profile applies to a command.
    ///
    /// A program that may be held was tried without arguments, as its desktop entry starts it. With
    /// arguments it may do something else (`--preferences`, `--daemon`), so those commands are not
    /// covered, whatever the app's name is.
    ///
    /// - Parameter paths: the program's paths: the path that is executed, and the file that it
    ///   leads to.
    func covers(_ command: [String], paths: [String], app: String) -> Bool {
        switch window {
        case .yes, .no:
            command.count == 1 && programs.contains(where: paths.contains)
        case .never:
            programs.contains { isNamed($0, paths, app) }
        case nil: false
        }
    }

    /// Whether the profile is about the tool with that path, or that module of `python3 -m`. Which
    /// version it is, only the inspection of its imports sees.
    func vouches(for program: String) -> Bool {
        vouching != nil
            && programs.contains { $0 == program || $0[...] == program.split(separator: "/").last }
    }

    /// Whether a word of `Program=` means the program or its app. A match only causes a warning, and
    /// keeps other profiles from allowing it, so `firefox` may also mean org.mozilla.firefox.
    private func isNamed(_ word: String, _ paths: [String], _ app: String) -> Bool {
        if paths.contains(word) || app == word { return true }
        func last(_ text: String, _ separator: Character) -> Substring {
            text.split(separator: separator).last ?? ""
        }
        return paths.contains { last($0, "/") == word } || last(app, ".").lowercased() == word
    }
}

/// The profiles in effect, in the order of their names.
public struct Profiles: Hashable, Sendable {
    public var all: [Profile]

    public init(_ all: [Profile] = []) { self.all = all }

    /// The profile that allows the command to be held at its first window; nil if there is none.
    public func allowing(_ command: [String], paths: [String], app: String) -> Profile? {
        guard forbidding(command, paths: paths, app: app) == nil else { return nil }
        let about = about(command, paths: paths, app: app)
        // A profile with the app's own name is more specific than one that only names its program.
        let best = about.first { $0.identifier == app } ?? about.first
        return best.flatMap { $0.window == .yes ? $0 : nil }
    }

    /// The profiles that allow the command to be held, or do not.
    public func about(_ command: [String], paths: [String], app: String) -> [Profile] {
        all.filter { $0.window != .never && $0.covers(command, paths: paths, app: app) }
    }

    /// The profile that vouches for modules of the program.
    public func vouching(for program: String) -> Profile? {
        all.first { $0.vouches(for: program) }
    }

    /// The profile that forbids holding the command, unless its manifest insists; nil if there is
    /// none.
    public func forbidding(_ command: [String], paths: [String], app: String) -> Profile? {
        all.first { $0.window == .never && $0.covers(command, paths: paths, app: app) }
    }
}
