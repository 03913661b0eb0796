internal import UnitFile

extension AppManifest {
    /// `[LaunchScreen]`: what a shell shows from the request for a launch until the app has drawn.
    /// Only the shell reads the files; this code only checks that they can be shown
    /// (UILaunchStoryboardName, UILaunchScreens).
    public struct LaunchScreens: Hashable, Sendable {
        /// `Default=`: the file to show if no other matches.
        public var standard: String?
        /// `Orientation=`, `SizeClass=`, `URLScheme=`: words such as `landscape:/path`.
        var orientations: [Choice] = []
        var sizeClasses: [Choice] = []
        public var urlSchemes: [Choice] = []
        /// `Until=`
        public var end = End.active

        public struct Choice: Hashable, Sendable {
            public var name: String
            public var path: String
        }

        /// When the screen is removed. If the app leaves the foreground, it is removed in any case.
        public enum End: String, CaseIterable, Sendable {
            /// When the app is active or has reported its first draw, whichever comes first.
            case active
            /// When the app reports its first draw (`didDrawFirstFrame`).
            case firstDraw = "first-draw"
        }
    }

    /// How a client shows the app, as far as it says so.
    public struct LaunchScreenHints: Hashable, Sendable {
        public var orientation: Orientation?
        public var sizeClass: SizeClass?
        public init() {}
    }

    /// UIInterfaceOrientation. In a manifest, `landscape` stands for both of the last two.
    public enum Orientation: String, CaseIterable, Sendable {
        case portrait
        case portraitUpsideDown = "portrait-upside-down"
        case landscapeLeft = "landscape-left"
        case landscapeRight = "landscape-right"
    }

    /// UIUserInterfaceSizeClass, for the width.
    public enum SizeClass: String, CaseIterable, Sendable {
        case compact
        case regular
    }

    /// At most this many screens of one kind. A manifest with more is a mistake.
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
                    message: "'\(Names.cut(word.text))' is not a screen; write "
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

    /// The screen for a launch: the first that exists for the URL's scheme, the orientation, the
    /// size class, or by default; nil if there is none.
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

    /// Asks the context about each file once, and leaves out files that cannot be used.
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

/// The result of checking a launch screen's file.
public enum LaunchScreenFinding: Hashable, Sendable {
    /// The file can be shown, but something is wrong with it, which is a warning.
    case doubt(String)
    /// The file cannot be shown. The app is installed without it.
    case unusable(String)
    /// The file cannot be shown, which is an error because the caller wants to repair it.
    case fault(String)
}

extension SectionReader {
    /// The position of the assignment that names the file; that of the section, if the assignment
    /// uses a specifier.
    fileprivate func position(ofLaunchScreen path: String) -> Position {
        let section = "LaunchScreen"
        for key in ["Default", "Orientation", "SizeClass", "URLScheme"] {
            let match = unit.assignments(section, key).first { $0.value.text.contains(path) }
            if let match { return match.value.position }
        }
        return position(of: section)
    }
}
