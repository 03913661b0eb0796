/// What an ELF file says about how its program starts: enough to know that `__libc_start_main` of a
/// preloaded library will be called, and that no code of the program runs before it. elf(5)
///
/// Every number in the file comes from a stranger. Sums are checked for overflow, tables have
/// limits, and a table that lies outside the file is reported as damage and never crashes the
/// reader.
struct ElfProgram: Equatable {
    enum Linkage: Equatable {
        case staticExecutable
        case staticPositionIndependent
        case dynamic(loader: String, libraries: NeededLibraries, start: Start)
    }

    /// Which code of the program runs first.
    enum Start: Equatable {
        /// Start code that calls the C library's `__libc_start_main`.
        case cLibrary
        /// Start code that calls something else.
        case otherFunction
        /// Code that this inspection does not recognize.
        case unknown
        /// The program's preinit functions.
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
    /// A dynamic section of 64 KiB has room for 4,096 entries; programs have fewer than a hundred.
    static let dynamicByteLimit = 65_536
    /// At most this many relocations are read from each of two tables. The largest programs import
    /// tens of thousands of symbols.
    static let relocationLimit = 1 << 20
    /// The size of a string table. The largest one seen is node's: 4 MB.
    static let stringTableByteLimit: UInt64 = 64 << 20
    /// The size of a dynamic linker's string table, which is read as a whole. musl's, which is also
    /// that of the C library, has 16 KB.
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

    /// Whether the file that a program names as its dynamic linker really is one. Debuggers rely on
    /// two names: glibc's linker exports the first, musl's the second.
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

    /// The header of an ELF file for this machine.
    private static func header(of file: borrowing ExecutableFile) throws(Failure) -> [UInt8] {
        let header = file.bytes(at: 0, upTo: 64)
        guard header.starts(with: [0x7f, 0x45, 0x4c, 0x46]) else { throw .notElf }
        guard header.count >= 20 else { throw .damaged }
        // 64-bit, little-endian, for this machine.
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

/// The program headers that the inspection uses.
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
            default: break  // Another type of the file format; no case of ours is missing.
            }
        }
    }

    /// The offset in the file of the byte that is loaded at `address`.
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
