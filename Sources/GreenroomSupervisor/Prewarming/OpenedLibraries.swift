internal import GreenroomLinux

/// Chooses the libraries that a program has opened after main, from the files that its process had
/// mapped at its pause and has mapped now.
struct OpenedLibraries {
    /// A mapped file, as the kernel numbers it.
    struct Place: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64

        init(_ file: MappedFiles.Mapping) { (device, inode) = (file.device, file.inode) }
    }

    /// More than any program that was tried opens; kate opens 76.
    static let countLimit = 192
    /// In bytes, for all paths together. One variable can have 128 KiB (execve(2)).
    static let byteLimit = 16 << 10

    /// The paths of the libraries, in the order in which they were mapped: the kernel maps each
    /// below the one before, with few exceptions. The order only decides which libraries are loaded
    /// as part of others, because each library is opened with all that it needs.
    ///
    /// - Parameters:
    ///   - mapped: in the order of addresses.
    ///   - known: what is opened already, before the pause.
    static func choose(
        from mapped: [MappedFiles.Mapping], atPause: Set<Place>, known: [String] = []
    ) -> [String] {
        guard !mixesToolkits(mapped) else { return [] }
        var chosen = known
        var byteCount = known.reduce(0) { $0 + $1.utf8.count + 1 }
        for file in mapped.reversed() where !atPause.contains(Place(file)) && isLibrary(file) {
            byteCount += file.path.utf8.count + 1
            guard chosen.count < countLimit, byteCount <= byteLimit else { break }
            if !chosen.contains(file.path) { chosen.append(file.path) }
        }
        return chosen
    }

    /// Whether the file is a library that dlopen(3) can open by its path, and may open early.
    private static func isLibrary(_ file: MappedFiles.Mapping) -> Bool {
        guard file.isExecutable, !file.isDeleted, file.isProgramText else { return false }
        guard isPath(file.path) else { return false }
        let parts = file.path.split(separator: "/")
        guard let name = parts.last, name.hasSuffix(".so") || name.contains(".so.") else {
            return false
        }
        return !isOfLibc(name, in: parts.dropLast().last)
    }

    /// Whether the text is a path that may be in the list: it contains neither the list's separator
    /// nor a character that the loader would expand (ld.so(8)).
    static func isPath(_ text: some StringProtocol) -> Bool {
        text.utf8.first == UInt8(ascii: "/")
            && !text.utf8.contains { $0 < 0x20 || $0 == 0x3a || $0 == 0x24 }
    }

    /// Whether glibc or PAM opens the library itself, when it needs it and as it is configured by
    /// then: modules of name services (nss(5)), of iconv(3) and of PAM, and the libraries that have
    /// become part of glibc.
    private static func isOfLibc(_ name: Substring, in folder: Substring?) -> Bool {
        folder == "gconv" || folder == "security" || name.hasPrefix("libnss_")
            || stubs.contains { name.hasPrefix($0) }
    }

    private static let stubs = ["libpthread.so", "libdl.so", "librt.so", "libutil.so", "libanl.so"]

    /// Whether two versions of a toolkit are loaded, which define the same symbols: then it matters
    /// which is opened first.
    private static func mixesToolkits(_ mapped: [MappedFiles.Mapping]) -> Bool {
        toolkits.contains { versions in
            versions.count { version in mapped.contains { $0.path.contains(version) } } > 1
        }
    }

    private static let toolkits = [
        ["/libgtk-x11-2.0.so", "/libgtk-3.so", "/libgtk-4.so"],
        ["/libQt5Core.so", "/libQt6Core.so"],
    ]
}
