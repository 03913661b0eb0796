internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest

// What was learned about an app's imports, in words for people.

extension LearnedImports {
    /// At most this many of the modules that are left to launches are named.
    private static let namedRefusals = 3

    /// - Parameter isPreparing: whether the paused instances do not have the imports yet.
    /// - Returns: nil if there is nothing to tell.
    func clientNote(isPreparing: Bool) -> Control.Note? {
        guard !lines.isEmpty || !refused.isEmpty else { return nil }
        let imports =
            names.isEmpty
            ? "nothing that its launches import can be imported before"
            : "its instances import \(names.count) module\(names.count == 1 ? "" : "s") before "
                + "their pause, as its launches do"
        return isPreparing
            ? .init(
                code: "imports_preparing",
                text: imports + ", and the first one is not paused yet" + refusals)
            : .init(code: "imports_learned", text: imports + refusals)
    }

    /// The causes of the refusals, and how many modules each keeps out.
    private var refusals: String {
        var counts: [String: (reason: String, count: Int)] = [:]
        for refusal in refused {
            counts[refusal.cause, default: (refusal.reason, 0)].count += 1
        }
        guard !counts.isEmpty else { return "" }
        let causes = counts.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        let named = causes.prefix(Self.namedRefusals).map { name, cause in
            "\(name) \(Self.words(for: cause.reason))"
                + (cause.count > 1 ? ", like \(cause.count - 1) that import it" : "")
        }
        let rest = causes.count - named.count
        let compiled = compiledCount == 0 ? "" : " (\(compiledCount) of them compiled before)"
        return "; \(refused.count) are left to launches\(compiled): "
            + named.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
    }

    private static func words(for reason: String) -> String {
        switch reason {
        case "arguments": "(reads the arguments)"
        case "directory": "(asks for the working directory, or changes it)"
        case "terminal": "(asks whether there is a terminal)"
        case "variables": "(reads all variables, or one that differs from launch to launch)"
        case "environment": "(changes the environment)"
        case "locale": "(sets the locale)"
        case "signals": "(handles signals)"
        case "time": "(remembers the time)"
        case "opens": "(reads files)"
        case "writes": "(writes files)"
        case "runs": "(starts programs)"
        case "prints": "(prints something)"
        case "network": "(uses the network)"
        case "thread": "(starts threads)"
        case "descriptor": "(keeps files open)"
        case "state": "(changes the interpreter)"
        case "fails": "(cannot be imported alone)"
        case "pause": "(AtPause= of its profile fails)"
        case "archive": "(is not a file)"
        case "async": "(leaves work for later)"
        case "shared": "(is loaded by two that the program may ask for alone)"
        case "limit": "(comes after as many as one list can have)"
        case "order": "(comes after one that is left)"
        case "caller": "(asks what loads it)"
        case "versions": "(is one of several versions)"
        case "signed": "(is in a signed archive)"
        case "split": "(is in a package that several archives have)"
        case "generates": "(makes classes while the program runs)"
        case "excluded": "(ImportsExclude=)"
        case _: "(is known not to be safe)"
        }
    }
}

extension Control.Note {
    static let unlearned = Self(
        code: "imports_unlearned",
        text: "its instances import nothing before their pause, until a launch from the pool has "
            + "shown what it imports")
}

extension Control.Note {
    /// - Parameters:
    ///   - version: what an inspection has found; nil if there was none.
    static func profile(
        _ file: String, _ version: LearnedImports.Version?, _ vouching: Vouching?
    ) -> Self {
        guard let version else {
            return .init(
                code: "profile",
                text: "the profile \(file) is about it, and is asked once a launch has shown what "
                    + "it imports")
        }
        let name = "\(version.distribution) \(version.number)"
        if version.isKnown {
            return .init(
                code: "profile", text: "the profile \(file) vouches for some of them (\(name))")
        }
        let versions = vouching?.versions.joined(separator: ", ") ?? ""
        let found =
            switch version.number {
            case "-": "none was found"
            case "*": "Python finds its modules in another folder than that of the version"
            case let number: "\(number) is installed"
            }
        return .init(
            code: "profile_version",
            text: "the profile \(file) is not used: it knows \(version.distribution) \(versions), "
                + "and \(found)")
    }
}

extension ImportLists.Abandonment {
    var note: Control.Note {
        let reason =
            switch self {
            case .notInspected: "it could not be inspected"
            case .failed(.startsAnew): "launches were started anew"
            case .failed(let fault): "with these imports, \(fault.words(at: .runtime))"
            }
        return .init(
            code: "imports_abandoned",
            text: "its instances import nothing before their pause: what its launches import was "
                + "learned, but \(reason) (greenroomctl forget --imports starts that anew)")
    }
}
