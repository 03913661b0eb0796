/// What greenroomctl ends with, unless as an app did; documented in greenroomctl(1).
enum ExitStatus: Int32, CaseIterable {
    case done = 0
    /// Refused, or failed.
    case failed = 1
    /// `verify`: a manifest is wrong.
    case badManifest = 2
    /// EX_USAGE of sysexits(3).
    case usage = 64
    /// EX_UNAVAILABLE: the daemon is not there.
    case unreachable = 69
    /// EX_NOPERM
    case permission = 77
    // For verbs whose exit status is the app's: as a shell's, so that they can be told apart.
    /// Greenroom failed before the app started.
    case notStarted = 125
    /// The program cannot be executed.
    case notExecutable = 126
    /// There is no such app, or no such program.
    case notFound = 127
}
