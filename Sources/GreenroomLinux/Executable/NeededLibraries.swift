/// What the libraries that a program names tell about whether it can be paused.
struct NeededLibraries: Equatable {
    /// Whether one of them is a C library: `libc.so.6` of glibc, `libc.so` of musl, or Alpine's
    /// `libc.musl-x86_64.so.1`.
    private(set) var hasCLibrary = false
    private(set) var objection: IneligibilityReason?

    /// Libraries whose constructors run before the pause and remember the arguments: Rust's
    /// standard library if it is shared (libstd-HASH.so), Rust's compiler driver, which includes
    /// it, and GNUstep's process information. (Swift's standard library remembers them, too; the
    /// preload library gives it those of the launch.)
    private static let earlyReaders = ["libstd-", "librustc_driver-", "libgnustep-base.so"]
    /// The address sanitizer, which ends a program in which it is not the first of all libraries.
    private static let firstOnes = ["libasan.so", "libclang_rt.asan"]
    /// The first library runs `dmidecode` through a shell when it is loaded. The others execute the
    /// program again, without the preload library, if its addresses or its stack do not suit them.
    private static let starters = [
        "libparted.so", "libparted-", "libtsan.so", "libclang_rt.tsan",
    ]

    mutating func insert(_ name: String) {
        let file = name.split(separator: "/").last ?? ""
        if file == "libc.so" || file.hasPrefix("libc.so.") || file.hasPrefix("libc.musl-") {
            hasCLibrary = true
        }
        objection = objection ?? Self.objection(to: file)
        // A name without a slash is looked up in folders; a name with one is relative to the
        // working directory.
        if file.count != name.count { insert(searchPath: name) }
    }

    /// Adds folders in which libraries are looked up, or one library's path. ld.so(8)
    mutating func insert(searchPath: String) {
        // The dynamic linker ignores an empty search path.
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
