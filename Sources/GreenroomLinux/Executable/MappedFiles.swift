internal import Glibc

/// The files that a process has mapped: its executable, its libraries, and data such as locales.
/// proc_pid_maps(5)
public enum MappedFiles {
    /// The largest programs that were tried have about 3,000 mappings: 300 KB of text.
    public static let byteLimit = 8 << 20

    public struct Mapping: Equatable, Hashable, Sendable {
        /// The device that the kernel shows for the mapping. On stacked file systems, it differs
        /// from the device that stat(2) returns.
        public var device: UInt64
        public var inode: UInt64
        public var path: String
        /// Whether the path no longer names the mapped file.
        public var isDeleted: Bool
        /// Whether some of the mapping is code.
        public var isExecutable = false

        /// Whether this may be a file of a program. Devices and unnamed shared memory are not, nor is
        /// what dconf shares with its clients.
        public var isProgramText: Bool {
            !["/dev/", "/memfd:", "/SYSV", "/anon_hugepage"].contains { path.hasPrefix($0) }
                && !isSettings
        }

        /// Whether this is a database of dconf(7), or the file in which dconf marks a database as
        /// changed. Both are written by other programs at any time, the second one even when another
        /// program starts, and dconf's clients take the changes while they run.
        private var isSettings: Bool {
            !isExecutable && path.split(separator: "/").dropLast().last == "dconf"
        }

        /// Whether this is a temporary file that the process made and deleted at once, as
        /// sanitizers and just-in-time compilers do. Such a file is data, and no other file has
        /// replaced it.
        ///
        /// - Parameter found: the file to which the path leads now; nil if there is none.
        public func isAnonymous(_ found: FileIdentity?) -> Bool {
            isDeleted && !isExecutable && found == nil
        }

        /// Whether the path still names the mapped file. On stacked file systems, stat(2) and the
        /// mapping show different inode numbers, so only a deletion can be noticed.
        public func isCurrent(_ found: FileIdentity?) -> Bool {
            guard !isDeleted, let found else { return false }
            return found.inode == inode || found.device != device
        }
    }

    /// Each mapped file once, in the order of addresses.
    /// - Parameter text: the text of /proc/PID/maps. Reading that file takes the lock of the
    ///   process's mappings, and can block for any length of time.
    public static func parse(_ text: [UInt8]) -> [Mapping] {
        var places: [Mapping: Int] = [:]
        var mappings: [Mapping] = []
        var former: ArraySlice<UInt8> = []
        var place: Int?
        for line in text.split(separator: UInt8(ascii: "\n")) {
            // The mappings of one file follow each other, so most lines name the same file as the
            // line before.
            let file = line.afterThreeFields
            if file != former {
                former = file
                place = parse(line: line).map { mapping in
                    if let known = places[mapping] { return known }
                    mappings.append(mapping)
                    places[mapping] = mappings.count - 1
                    return mappings.count - 1
                }
            }
            if let place, line.isExecutable { mappings[place].isExecutable = true }
        }
        return mappings
    }

    /// `start-end permissions offset major:minor inode     path`
    private static func parse(line: ArraySlice<UInt8>) -> Mapping? {
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
        guard fields.count == 6 else { return nil }
        let numbers = String(decoding: fields[3], as: UTF8.self).split(separator: ":")
        guard numbers.count == 2, let major = UInt32(numbers[0], radix: 16),
            let minor = UInt32(numbers[1], radix: 16),
            let inode = UInt64(String(decoding: fields[4], as: UTF8.self)), inode != 0
        else { return nil }
        var path = String(
            decoding: fields[5].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
        guard path.hasPrefix("/") else { return nil }
        // The kernel writes a newline in a name as \012 and leaves everything else as it is.
        if path.utf8.contains(UInt8(ascii: "\\")) {
            path = path.split(separator: "\\012", omittingEmptySubsequences: false)
                .joined(separator: "\n")
        }
        let isDeleted = path.hasSuffix(" (deleted)")
        if isDeleted { path.removeLast(" (deleted)".count) }
        return Mapping(
            device: deviceNumber(major, minor), inode: inode, path: path,
            isDeleted: isDeleted)
    }

    /// Packs the two numbers as stat(2) does. makedev(3)
    private static func deviceNumber(_ major: UInt32, _ minor: UInt32) -> UInt64 {
        let (major, minor) = (UInt64(major), UInt64(minor))
        return minor & 0xff | (major & 0xfff) << 8 | (minor & ~0xff) << 12 | (major & ~0xfff) << 32
    }
}

extension ArraySlice<UInt8> {
    /// Whether the third letter of the permissions (`r-xp`), which follow the first blank, is an x.
    fileprivate var isExecutable: Bool {
        guard let blank = firstIndex(of: UInt8(ascii: " ")), blank + 3 < endIndex else {
            return false
        }
        return self[blank + 3] == UInt8(ascii: "x")
    }

    /// The part after address, permissions and offset: device, inode and path.
    fileprivate var afterThreeFields: ArraySlice<UInt8> {
        var spaces = 0
        for index in indices where self[index] == UInt8(ascii: " ") {
            spaces += 1
            if spaces == 3 { return self[index...] }
        }
        return []
    }
}
