/// What an ELF file says about how it starts: enough to know that a preloaded library's
/// `__libc_start_main` will be called, and nothing of the program's own before it. elf(5)
///
/// Every number in the file is a stranger's: sums are checked, tables have limits, and a table that
/// lies outside the file makes it damaged, never us.
struct ElfProgram: Equatable {
    enum Linkage: Equatable {
        case staticExecutable
        case staticPositionIndependent
        case dynamic(loader: String, libraries: NeededLibraries, start: Start)
    }

    /// Which code of the program runs first.
    enum Start: Equatable {
        /// Start code, which calls the C library's `__libc_start_main`.
        case cLibrary
        /// Start code, which calls something else.
        case otherFunction
        /// Code that nothing is known about.
        case unknown
        /// Its preinit functions.
        case preinitFunctions
    }

    enum Failure: Error, Equatable {
        case notElf
        case otherArchitecture
        case damaged
    }

    var linkage: Linkage

    /// Real programs have a dozen; the format allows 65,535.
    static let segmentLimit = 256
    /// A dynamic section of 64 KiB has room for 4,096 entries; programs have under a hundred.
    static let dynamicByteLimit = 65_536
    /// Relocations to look at, of each of two tables; the largest programs import tens of thousands of
    /// symbols.
    static let relocationLimit = 1 << 20
    /// Of a string table; node's, the largest known here, has 4 MB.
    static let stringTableByteLimit: UInt64 = 64 << 20
    /// Of a dynamic linker's string table, which is read as a whole; musl's, the C library itself, has
    /// 16 KB.
    static let loaderStringByteLimit = 1 << 20
    static let pathByteLimit = 4096

    #if arch(x86_64)
        static let machine: UInt16 = 62  // EM_X86_64
        /// R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT
        static let symbolRelocations: [UInt32] = [1, 6, 7]
    #elseif arch(arm64)
        static let machine: UInt16 = 183  // EM_AARCH64
        /// R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT
        static let symbolRelocations: [UInt32] = [257, 1025, 1026]
    #endif

    init(_ file: borrowing ExecutableFile) throws(Failure) {
        let header = try Self.header(of: file)
        let segments = try Segments(file, header: header)
        guard let loader = segments.loader else {
            linkage =
                Self.isPositionIndependent(header) && segments.dynamic != nil
                ? .staticPositionIndependent : .staticExecutable
            return
        }
        guard let path = file.string(at: loader.offset, limit: Self.pathByteLimit) else {
            throw .damaged
        }
        guard let dynamic = segments.dynamic else { throw .damaged }
        let section = try DynamicSection(file, dynamic)
        linkage = .dynamic(
            loader: path, libraries: try section.libraries(file, segments),
            start: try Self.start(
                header.littleEndian(at: 24, as: UInt64.self), section, file, segments))
    }

    private static func start(
        _ entry: UInt64, _ section: DynamicSection, _ file: borrowing ExecutableFile,
        _ segments: borrowing Segments
    ) throws(Failure) -> Start {
        if section.hasPreinitFunctions { return .preinitFunctions }
        guard let pointer = EntryCode.pointer(from: entry, file, segments) else { return .unknown }
        let name = try section.importedSymbol(at: pointer, file, segments)
        return name == "__libc_start_main" ? .cLibrary : .otherFunction
    }

    /// Whether a file that programs name as their dynamic linker is one. glibc's exports the first of the
    /// names, musl's the second: debuggers rely on them.
    static func isDynamicLinker(_ file: borrowing ExecutableFile) -> Bool {
        do {
            let header = try header(of: file)
            let segments = try Segments(file, header: header)
            guard isPositionIndependent(header), segments.loader == nil,
                let dynamic = segments.dynamic
            else { return false }
            return try DynamicSection(file, dynamic)
                .mentions(["_r_debug", "_dl_debug_addr"], file, segments)
        } catch {
            return false
        }
    }

    /// Of a program for this machine.
    private static func header(of file: borrowing ExecutableFile) throws(Failure) -> [UInt8] {
        let header = file.bytes(at: 0, upTo: 64)
        guard header.starts(with: [0x7f, 0x45, 0x4c, 0x46]) else { throw .notElf }
        guard header.count >= 20 else { throw .damaged }
        // 64-bit, little-endian, ours.
        guard header[4] == 2, header[5] == 1,
            header.littleEndian(at: 18, as: UInt16.self) == machine
        else { throw .otherArchitecture }
        guard header.count == 64 else { throw .damaged }
        let type = header.littleEndian(at: 16, as: UInt16.self)
        guard type == 2 || type == 3 else { throw .damaged }  // ET_EXEC, ET_DYN
        return header
    }

    private static func isPositionIndependent(_ header: [UInt8]) -> Bool {
        header.littleEndian(at: 16, as: UInt16.self) == 3  // ET_DYN
    }
}

/// The program headers that matter.
struct Segments {
    struct Range {
        var offset: UInt64
        var address: UInt64
        var byteCount: UInt64
    }

    private(set) var loaded: [Range] = []
    private(set) var loader: Range?
    private(set) var dynamic: Range?

    init(_ file: borrowing ExecutableFile, header: [UInt8]) throws(ElfProgram.Failure) {
        let offset = header.littleEndian(at: 32, as: UInt64.self)
        let entryByteCount = Int(header.littleEndian(at: 54, as: UInt16.self))
        let count = Int(header.littleEndian(at: 56, as: UInt16.self))
        guard entryByteCount == 56, count > 0, count <= ElfProgram.segmentLimit,
            let table = file.exactly(count * entryByteCount, at: offset)
        else { throw .damaged }
        for entry in 0..<count {
            let at = entry * entryByteCount
            let range = Range(
                offset: table.littleEndian(at: at + 8, as: UInt64.self),
                address: table.littleEndian(at: at + 16, as: UInt64.self),
                byteCount: table.littleEndian(at: at + 32, as: UInt64.self))
            switch table.littleEndian(at: at, as: UInt32.self) {
            case 1: loaded.append(range)  // PT_LOAD
            case 2: dynamic = range  // PT_DYNAMIC
            case 3: loader = range  // PT_INTERP
            default: break  // A number of the format, not an enumeration of ours.
            }
        }
    }

    /// Where in the file the byte at an address comes from.
    func offset(of address: UInt64) -> UInt64? {
        for segment in loaded where address >= segment.address {
            let distance = address - segment.address
            guard distance < segment.byteCount else { continue }
            let (sum, overflow) = segment.offset.addingReportingOverflow(distance)
            return overflow ? nil : sum
        }
        return nil
    }
}
