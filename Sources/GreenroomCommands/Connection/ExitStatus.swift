/// The exit statuses of greenroomctl, unless it ends as an app did. See greenroomctl(1).
enum ExitStatus: Int32, CaseIterable {
    case done = 0
    /// The request was refused or failed.
    case failed = 1
    /// `verify`: a manifest has errors.
    case badManifest = 2
    /// `is-active`: none of the apps runs.
    case notActive = 3
    /// EX_USAGE of sysexits(3).
    case usage = 64
    /// EX_UNAVAILABLE: the daemon cannot be reached.
    case unreachable = 69
    /// EX_NOPERM
    case permission = 77
    // Verbs that end as the app did use the statuses that a shell uses for its own failures.
    /// Greenroom failed before the app started.
    case notStarted = 125
    /// The program cannot be executed.
    case notExecutable = 126
    /// There is no such app, or no such program.
    case notFound = 127
}
