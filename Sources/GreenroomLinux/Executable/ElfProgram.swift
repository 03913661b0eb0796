/// What an ELF file says about how it starts: enough to know whether a preloaded library's
/// `__libc_start_main` will be called. elf(5)
///
/// Every number in the file is a stranger's: sums are checked, tables have limits, and a table that
/// lies outside the file makes it damaged, never us.
struct ElfProgram: Equatable {
    enum Linkage: Equatable {
        case staticExecutable
        case staticPositionIndependent
        case dynamic(loader: String, libraries: NeededLibraries, startsThroughCLibrary: Bool)
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
    /// Undefined symbols to look at; the largest programs import tens of thousands.
    static let symbolLimit = 1 << 20
    /// Of a string table; node's, the largest known here, has 4 MB.
    static let stringTableByteLimit: UInt64 = 64 << 20
    static let pathByteLimit = 4096

    #if arch(x86_64)
        static let machine: UInt16 = 62  // EM_X86_64
    #elseif arch(arm64)
        static let machine: UInt16 = 183  // EM_AARCH64
    #endif

    init(_ file: borrowing ExecutableFile) throws(Failure) {
        let start = file.bytes(at: 0, upTo: 64)
        guard start.starts(with: [0x7f, 0x45, 0x4c, 0x46]) else { throw .notElf }
        guard start.count >= 20 else { throw .damaged }
        // 64-bit, little-endian, ours.
        guard start[4] == 2, start[5] == 1,
            start.littleEndian(at: 18, as: UInt16.self) == Self.machine
        else { throw .otherArchitecture }
        guard start.count == 64 else { throw .damaged }
        let type = start.littleEndian(at: 16, as: UInt16.self)
        guard type == 2 || type == 3 else { throw .damaged }  // ET_EXEC, ET_DYN

        let segments = try Segments(file, header: start)
        guard let loader = segments.loader else {
            linkage =
                type == 3 && segments.dynamic != nil
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
            startsThroughCLibrary: try section.imports("__libc_start_main", file, segments))
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
