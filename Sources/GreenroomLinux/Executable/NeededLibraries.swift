/// What the libraries that a program names say about pausing it.
struct NeededLibraries: Equatable {
    /// Among them is a C library: `libc.so.6` of glibc, `libc.so` of musl, or Alpine's
    /// `libc.musl-x86_64.so.1`.
    private(set) var hasCLibrary = false
    private(set) var objection: IneligibilityReason?

    /// Their constructors run before the pause, and remember the arguments: Rust's standard library
    /// where it is shared (libstd-HASH.so), its compiler's driver, which brings it, and GNUstep's
    /// process information. (Swift's does so too; the preload library tells it of the launch.)
    private static let earlyReaders = ["libstd-", "librustc_driver-", "libgnustep-base.so"]
    /// Ends a program in which it is not the first of all libraries.
    private static let firstOnes = ["libasan.so", "libclang_rt.asan"]

    mutating func insert(_ name: String) {
        if name == "libc.so" || name.hasPrefix("libc.so.") || name.hasPrefix("libc.musl-") {
            hasCLibrary = true
        }
        if Self.earlyReaders.contains(where: name.hasPrefix) {
            objection = .argumentsReadEarly
        } else if Self.firstOnes.contains(where: name.hasPrefix) {
            objection = .preloadRefused
        }
    }
}
