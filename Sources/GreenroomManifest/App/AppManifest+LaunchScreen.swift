internal import UnitFile

extension AppManifest {
    /// `[LaunchScreen]`: what a shell shows from the request for a launch until the app has drawn. The
    /// files are the shell's to understand; here they are only found and counted
    /// (UILaunchStoryboardName, UILaunchScreens).
    public struct LaunchScreens: Hashable, Sendable {
        /// `Default=`: where no other is meant.
        public var standard: String?
        /// `Orientation=`, `SizeClass=`, `URLScheme=`: a word each, `landscape:/path`.
        public var orientations: [Choice] = []
        public var sizeClasses: [Choice] = []
        public var urlSchemes: [Choice] = []
        /// `Until=`
        public var end = End.active

        public struct Choice: Hashable, Sendable {
            public var name: String
            public var path: String
        }

        /// What takes it away, at the latest: the app that is not in front any more has none.
        public enum End: String, CaseIterable, Sendable {
            /// The app is active, or has said before that it drew.
            case active
            /// The app says that it drew (`didDrawFirstFrame`).
            case firstDraw = "first-draw"
        }
    }

    /// How a client shows the app, as far as it says so.
    public struct LaunchScreenHints: Hashable, Sendable {
        public var orientation: Orientation?
        public var sizeClass: SizeClass?
        public init() {}
    }

    /// UIInterfaceOrientation. In a manifest `landscape` is either of the last two.
    public enum Orientation: String, CaseIterable, Sendable {
        case portrait
        case portraitUpsideDown = "portrait-upside-down"
        case landscapeLeft = "landscape-left"
        case landscapeRight = "landscape-right"
    }

    /// UIUserInterfaceSizeClass, of the width.
    public enum SizeClass: String, CaseIterable, Sendable {
        case compact
        case regular
    }

    /// Of one kind: beyond it a manifest hides a mistake.
    static let launchScreenLimit = 16

    static func readLaunchScreens(
        _ reader: inout SectionReader, _ kind: Kind, _ context: ManifestContext
    ) -> LaunchScreens? {
        let section = "LaunchScreen"
        var result = LaunchScreens()
        result.standard = reader.last(section, "Default") { (value) throws(ValueError) in
            try Names.path(value.text)
        }
        let orientations = Orientation.allCases.map(\.rawValue) + ["landscape"]
        result.orientations = readChoices(&reader, "Orientation", orientations)
        result.sizeClasses = readChoices(&reader, "SizeClass", SizeClass.allCases.map(\.rawValue))
        result.urlSchemes = readChoices(&reader, "URLScheme", nil)
        result.end =
            reader.last(section, "Until") { (value) throws(ValueError) in
                try value.choice(LaunchScreens.End.self)
            } ?? .active
        guard reader.unit.sections.contains(where: { $0.name == section }) else { return nil }
        if result.end == .firstDraw, kind != .applicationKit {
            reader.error(
                reader.position(of: section),
                "Until=first-draw is for apps made with the SDK, which say when they have drawn")
        }
        if result.isEmpty {
            reader.warning(
                reader.position(of: section),
                "[LaunchScreen] names no screen; set Default= to a file that the shell can show")
        }
        result.check(&reader, context)
        return result.isEmpty ? nil : result
    }

    /// - Parameter names: nil for URL schemes.
    private static func readChoices(
        _ reader: inout SectionReader, _ key: String, _ names: [String]?
    ) -> [LaunchScreens.Choice] {
        reader.list("LaunchScreen", key, atMost: launchScreenLimit) { (word) throws(ValueError) in
            guard let colon = word.text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                throw ValueError(
                    message: "'\(Names.cut(word.text))' is no screen; write "
                        + "\(names?.first ?? "scheme"):/PATH")
            }
            let name = String(word.text[..<colon])
            if let names {
                guard names.contains(name) else {
                    throw ValueError(
                        message: "'\(Names.cut(name))' is none of \(names.joined(separator: ", "))")
                }
            } else {
                _ = try readScheme(name)
            }
            let path = String(word.text[word.text.utf8.index(after: colon)...])
            return .init(name: name.lowercased(), path: try Names.path(path))
        }
    }
}

extension AppManifest.LaunchScreens {
    public var isEmpty: Bool {
        standard == nil && orientations.isEmpty && sizeClasses.isEmpty && urlSchemes.isEmpty
    }

    /// The screen for a launch: that of its URL's scheme, else of the orientation, else of the size
    /// class, else the default; nil if none is meant.
    public func file(forURLs urls: [String], _ hints: AppManifest.LaunchScreenHints) -> String? {
        let schemes = urls.map { $0.prefix { $0 != ":" }.lowercased() }
        if let match = urlSchemes.first(where: { schemes.contains($0.name) }) { return match.path }
        if let wanted = hints.orientation {
            let isLandscape = wanted == .landscapeLeft || wanted == .landscapeRight
            let match =
                orientations.first { $0.name == wanted.rawValue }
                ?? orientations.first { isLandscape && $0.name == "landscape" }
            if let match { return match.path }
        }
        if let wanted = hints.sizeClass?.rawValue,
            let match = sizeClasses.first(where: { $0.name == wanted })
        {
            return match.path
        }
        return standard
    }

    /// Asks the context about each file, once; what cannot be used is left out.
    fileprivate mutating func check(_ reader: inout SectionReader, _ context: ManifestContext) {
        guard let look = context.checkLaunchScreen else { return }
        var unusable: Set<String> = []
        var seen: Set<String> = []
        let all = orientations + sizeClasses + urlSchemes
        for path in [standard].compactMap(\.self) + all.map(\.path) where seen.insert(path).inserted
        {
            let position = reader.position(ofLaunchScreen: path)
            switch look(path) {
            case nil: break
            case .doubt(let text)?: reader.warning(position, text)
            case .unusable(let text)?:
                reader.warning(position, text + ", ignoring it")
                unusable.insert(path)
            case .fault(let text)?: reader.error(position, text)
            }
        }
        if let path = standard, unusable.contains(path) { standard = nil }
        orientations.removeAll { unusable.contains($0.path) }
        sizeClasses.removeAll { unusable.contains($0.path) }
        urlSchemes.removeAll { unusable.contains($0.path) }
    }
}

/// What looking at a launch screen's file found.
public enum LaunchScreenFinding: Hashable, Sendable {
    /// It can be shown, but something is not as it should be.
    case doubt(String)
    /// It cannot be shown; the app can be launched without.
    case unusable(String)
    /// It cannot be shown, and whoever asks wants to mend it.
    case fault(String)
}

extension SectionReader {
    /// Of the assignment that names the file; that of the section, if a specifier hides it.
    fileprivate func position(ofLaunchScreen path: String) -> Position {
        let section = "LaunchScreen"
        for key in ["Default", "Orientation", "SizeClass", "URLScheme"] {
            let match = unit.assignments(section, key).first { $0.value.text.contains(path) }
            if let match { return match.value.position }
        }
        return position(of: section)
    }
}
