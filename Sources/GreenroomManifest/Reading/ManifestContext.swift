/// One of the files from which a manifest is read: the manifest itself or a drop-in.
public struct ManifestSource: Hashable, Sendable {
    public var bytes: [UInt8]
    public var file: String

    public init(_ bytes: [UInt8], file: String) {
        self.bytes = bytes
        self.file = file
    }
}

/// What the reader of a manifest needs to know about the system. A caller that only checks the
/// manifest's syntax can leave the functions out.
public struct ManifestContext {
    /// Returns the absolute path of a program that `Exec=` names without a slash; nil if there is
    /// none.
    public var findExecutable: ((String) -> String?)?
    /// Returns the value of a specifier for the user of `User=` (nil means the daemon's own).
    public var specifiers: ((Specifier, _ user: String?) -> String?)?
    /// Whether there is a desktop entry with that identifier, whose command replaces a missing
    /// `Exec=`.
    public var hasDesktopEntry: ((String) -> Bool)?
    /// Returns what is wrong with the file of a launch screen; nil if nothing is.
    public var checkLaunchScreen: ((String) -> LaunchScreenFinding?)?
    /// Whether the machine has a time zone of that name.
    public var knowsTimeZone: ((String) -> Bool)?
    /// `When=` of an app whose manifest has neither `When=` nor `Count=`.
    public var defaultOccasion = AppManifest.Occasion.boot
    /// What is known about desktop programs.
    public var profiles = Profiles()

    public init() {}
}
