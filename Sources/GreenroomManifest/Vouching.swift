internal import UnitFile

/// What a profile knows about a tool that an interpreter runs. For Python: that some of the tool's
/// modules may be imported before a pause although an inspection of imports would refuse them, and
/// what makes that right. For Ruby: what a program that RubyGems starts requires first.
public struct Vouching: Hashable, Sendable {
    /// `Version=`: the distribution or gem that the modules belong to, and the versions of it with
    /// which the tool was tried. With another version, the profile is not used.
    public var distribution: String
    public var versions: [String]
    /// `Vouch=`: modules, each with a word of the inspection for what it does.
    public var modules: [Module]
    /// `Answer=`: functions that start programs, which no prewarm may do. They answer what they have
    /// returned in the inspection.
    public var answers: [Answer]
    /// `AtPause=`: what is executed in modules after the imports, before the pause.
    public var atPause: [Statement]
    /// `AtLaunch=`: what is executed in modules when the process has the launch's arguments,
    /// variables, directory and streams. If one fails, the launch is started anew.
    public var atLaunch: [Statement]
    /// `Require=`: what a gem's program requires before it does anything else, whatever its
    /// arguments are.
    public var requires: [String]

    public struct Module: Hashable, Sendable {
        public var name: String
        public var reason: String
    }

    public struct Answer: Hashable, Sendable {
        public var module: String
        public var function: String
        /// What the value depends on: `/PATH`, `~/PATH`, `$VARIABLE`, or the name of a program that
        /// `PATH` finds.
        public var inputs: [String]

        fileprivate init(_ module: String, _ rest: String) throws(ValueError) {
            let words = rest.split(separator: " ").map(String.init)
            self.module = module
            function = words.first ?? ""
            inputs = Array(words.dropFirst())
            if let wrong = inputs.first(where: { !Self.isInput($0) }) {
                throw ValueError(
                    message: "“\(wrong)” is not a /PATH, a ~/PATH, a $VARIABLE or a program's name")
            }
            if inputs.isEmpty {
                throw ValueError(
                    message: "“\(function)” has no inputs: name the files, variables and programs "
                        + "that its value depends on")
            }
        }

        private static func isInput(_ word: String) -> Bool {
            word.hasPrefix("/") || word.hasPrefix("~/") || word.hasPrefix("$") && word.count > 1
                || !word.contains("/")
        }
    }

    public struct Statement: Hashable, Sendable {
        public var module: String
        /// One line in the language of the interpreter.
        public var text: String
    }

    /// Limits on what the daemon keeps, and hands to an interpreter in one variable.
    public enum Limit {
        public static let lines = 256
        /// How many bytes all lines may have together.
        public static let bytes = 16 << 10
    }

    /// Whether the profile is about a program that RubyGems starts.
    public var isForGem: Bool { !requires.isEmpty }

    /// The lines for an inspection (`python/inspect_imports.py`, `ruby/inspect.rb`).
    public var linesForInspection: [String] {
        ["@" + ([distribution] + versions).joined(separator: " ")]
            + modules.map { "+\($0.name) \($0.reason)" }
            + answers.map { "?\(([$0.module, $0.function] + $0.inputs).joined(separator: " "))" }
            + atPause.map { "<\($0.module) \($0.text)" } + atLaunch.map { ">\($0.module)" }
            + requires.map { "^\($0)" }
    }

    /// The lines for the hook of the interpreter.
    public var linesForHook: [String] {
        atPause.map { "<\($0.module)\t\($0.text)" } + atLaunch.map { ">\($0.module)\t\($0.text)" }
            + requires.map { "^\($0)" }
    }

    /// - Returns: nil if the profile does not vouch for anything.
    init?(_ reader: inout SectionReader, _ section: String) {
        let version = reader.list(section, "Version", atMost: Limit.lines) { $0.text }
        func pairs<Pair>(
            _ key: String, _ rest: String,
            _ make: (String, String) throws(ValueError) -> Pair
        ) -> [Pair] {
            reader.fold(section, key, []) { pairs, value throws(ValueError) in
                let words = value.text.split(separator: " ", maxSplits: 1).map(String.init)
                guard words.count == 2, !value.text.contains(where: { $0 == "\t" || $0.isNewline })
                else { throw ValueError(message: "“\(value.text)” is not a module and \(rest)") }
                guard pairs.count < Limit.lines else {
                    throw ValueError(message: "more than \(Limit.lines) lines")
                }
                pairs.append(try make(words[0], words[1]))
            }
        }
        modules = pairs("Vouch", "a reason") { name, rest throws(ValueError) in
            // What follows the word is for people.
            let reason = String(rest.prefix { $0 != " " })
            if reason == "runs" {
                throw ValueError(
                    message: "a prewarm that starts a program is ended: name the function that "
                        + "starts it in Answer=")
            }
            return Module(name: name, reason: reason)
        }
        answers = pairs("Answer", "a function", Answer.init)
        atPause = pairs("AtPause", "a statement") { Statement(module: $0, text: $1) }
        atLaunch = pairs("AtLaunch", "a statement") { Statement(module: $0, text: $1) }
        requires = reader.list(section, "Require", atMost: Limit.lines) { $0.text }
        (distribution, versions) = (version.first ?? "", Array(version.dropFirst()))
        let isForModules =
            !(modules.isEmpty && answers.isEmpty && atPause.isEmpty && atLaunch.isEmpty)
        if !isForModules, requires.isEmpty, version.isEmpty { return nil }
        if versions.isEmpty {
            reader.error(
                reader.position(of: section),
                "Vouch=, Answer=, AtPause=, AtLaunch= and Require= need a Version=, the name of a "
                    + "distribution or gem and the versions that were tried")
        }
        if isForModules, !requires.isEmpty {
            reader.error(
                reader.position(of: section),
                "Require= is for programs of Ruby, and Vouch=, Answer=, AtPause= and AtLaunch= are "
                    + "for programs of Python")
        }
        let byteCount = (linesForInspection + linesForHook).reduce(0) { $0 + $1.utf8.count + 1 }
        if byteCount > Limit.bytes {
            reader.error(
                reader.position(of: section), "the profile has more than \(Limit.bytes) bytes")
        }
    }
}
