extension AppManifest {
    /// What a manifest may ask for at most.
    public enum Limit {
        /// As D-Bus limits its names; it also becomes part of a cgroup's name (NAME_MAX 255).
        public static let identifierBytes = 200
        /// Paused instances of one app: more would hide a configuration error, not a launch.
        public static let prewarmCount = 16
        /// A program's own arguments come on top at launch.
        public static let commandWords = 256
        public static let environmentVariables = 256
        public static let environmentKeys = 64
        /// The kernel's NGROUPS_MAX is 65536; no person lists more than these.
        public static let supplementaryGroups = 64
        /// Starts that the runtime state remembers of an app.
        public static let startLimitBurst = 16
        /// Apps of each kind that one app may depend on.
        public static let dependencies = 32
        /// Sockets of one app: they go in one message, whose limit is 28 descriptors.
        public static let sockets = 16
    }
}
