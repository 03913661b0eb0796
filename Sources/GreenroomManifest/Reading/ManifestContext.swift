/// One file that a manifest is read from: itself, or a drop-in.
public struct ManifestSource: Hashable, Sendable {
    public var bytes: [UInt8]
    public var file: String

    public init(_ bytes: [UInt8], file: String) {
        self.bytes = bytes
        self.file = file
    }
}

/// What reading a manifest may ask of the world. Nobody who only checks its form need answer.
public struct ManifestContext {
    /// The absolute path of a program that `Exec=` names without a slash; nil if there is none.
    public var findExecutable: ((String) -> String?)?
    /// What a specifier stands for, for the user of `User=` (nil: the daemon's own).
    public var specifiers: ((Specifier, _ user: String?) -> String?)?
    /// Whether there is a desktop entry of that identifier, which then has what `Exec=` lacks.
    public var hasDesktopEntry: ((String) -> Bool)?
    /// What is wrong with the file of a launch screen; nil if nothing is.
    public var checkLaunchScreen: ((String) -> LaunchScreenFinding?)?
    /// Whether the machine knows a time zone of that name.
    public var knowsTimeZone: ((String) -> Bool)?

    public init() {}
}
