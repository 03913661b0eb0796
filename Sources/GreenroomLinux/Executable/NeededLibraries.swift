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
    /// The first runs `dmidecode` through a shell when it is loaded; the others execute the program anew
    /// where its addresses or its stack do not suit them, with nothing left of the preload library.
    private static let starters = [
        "libparted.so", "libparted-", "libtsan.so", "libclang_rt.tsan",
    ]

    mutating func insert(_ name: String) {
        let file = name.split(separator: "/").last ?? ""
        if file == "libc.so" || file.hasPrefix("libc.so.") || file.hasPrefix("libc.musl-") {
            hasCLibrary = true
        }
        objection = objection ?? Self.objection(to: file)
        // A name without a slash is looked up in folders, another one from the working directory.
        if file.count != name.count { insert(searchPath: name) }
    }

    /// Folders in which libraries are looked up, or one library's path. ld.so(8)
    mutating func insert(searchPath: String) {
        // One that is empty as a whole is passed over.
        let folders =
            searchPath.isEmpty
            ? [] : searchPath.split(separator: ":", omittingEmptySubsequences: false)
        guard !folders.allSatisfy(Self.isFixed) else { return }
        objection = objection ?? .relativePath
    }

    private static func isFixed(_ path: Substring) -> Bool {
        ["/", "$ORIGIN", "${ORIGIN}"].contains(where: path.hasPrefix)
    }

    private static func objection(to file: Substring) -> IneligibilityReason? {
        if earlyReaders.contains(where: file.hasPrefix) { return .argumentsReadEarly }
        if firstOnes.contains(where: file.hasPrefix) { return .preloadRefused }
        if starters.contains(where: file.hasPrefix) { return .startsPrograms }
        return nil
    }
}
