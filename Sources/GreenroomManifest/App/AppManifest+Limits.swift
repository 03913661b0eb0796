extension AppManifest {
    /// Limits on what a manifest may contain.
    public enum Limit {
        /// D-Bus has a similar limit for names. The identifier also becomes part of a cgroup's name
        /// (NAME_MAX 255).
        public static let identifierBytes = 200
        /// Paused instances of one app. A higher number would be a mistake in the manifest.
        public static let prewarmCount = 16
        /// Words of `Exec=`, not counting the arguments of a launch.
        static let commandWords = 256
        static let environmentVariables = 256
        public static let environmentKeys = 64
        /// Names in `Imports=`, and the bytes of all of them. The largest list seen, of a test with
        /// pandas and SciPy, has 521 names.
        public static let imports = 1024
        static let importBytes = 32_768
        /// The kernel's NGROUPS_MAX is 65536, but nobody lists more than this many by hand.
        public static let supplementaryGroups = 64
        /// The number of starts of an app that the runtime state remembers.
        public static let startLimitBurst = 16
        /// Apps for each key of `[Dependencies]`.
        public static let dependencies = 32
        /// Sockets of one app. They are sent in one message, which has at most 28 descriptors.
        public static let sockets = 16
    }
}
