/// The tables of the dynamic section that the inspection needs.
struct DynamicSection {
    /// Offsets in the string table.
    private var needed: [UInt64] = []
    private var searchPaths: [UInt64] = []
    private var strings: UInt64?
    private var stringByteCount: UInt64 = 0
    private var symbols: UInt64?
    private var relocations = Table()
    /// The number of relocations at the start of the table that name no symbol.
    private var relativeCount: UInt64 = 0
    private var callRelocations = Table()
    private var preinitByteCount: UInt64 = 0

    private struct Table {
        var address: UInt64?
        var byteCount: UInt64 = 0
    }

    init(
        _ file: borrowing ExecutableFile, _ range: Segments.Range
    ) throws(ElfProgram.Failure) {
        guard range.byteCount <= UInt64(ElfProgram.dynamicByteLimit) else { throw .damaged }
        let section = file.bytes(at: range.offset, upTo: Int(range.byteCount))
        var at = 0
        while at + 16 <= section.count {
            let tag = section.littleEndian(at: at, as: UInt64.self)
            if tag == 0 { return }  // DT_NULL
            take(tag, section.littleEndian(at: at + 8, as: UInt64.self))
            at += 16
        }
        throw .damaged
    }

    private mutating func take(_ tag: UInt64, _ value: UInt64) {
        switch tag {
        case 1: needed.append(value)  // DT_NEEDED
        case 2: callRelocations.byteCount = value  // DT_PLTRELSZ
        case 5: strings = value  // DT_STRTAB
        case 6: symbols = value  // DT_SYMTAB
        case 7: relocations.address = value  // DT_RELA
        case 8: relocations.byteCount = value  // DT_RELASZ
        case 10: stringByteCount = value  // DT_STRSZ
        case 15, 29: searchPaths.append(value)  // DT_RPATH, DT_RUNPATH
        case 23: callRelocations.address = value  // DT_JMPREL
        case 33: preinitByteCount = value  // DT_PREINIT_ARRAYSZ
        case 0x6fff_fff9: relativeCount = value  // DT_RELACOUNT
        default: break  // An unknown tag of the file format; no case of ours is missing.
        }
    }

    /// Whether the program has functions that the dynamic linker calls before any library's
    /// constructor.
    var hasPreinitFunctions: Bool { preinitByteCount > 0 }

    /// The libraries that the program names itself.
    func libraries(
        _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> NeededLibraries {
        var libraries = NeededLibraries()
        guard let base = try stringTable(segments) else { return libraries }
        for name in needed {
            libraries.insert(try string(name, limit: 256, in: file, at: base))
        }
        for path in searchPaths {
            libraries.insert(
                searchPath: try string(path, limit: ElfProgram.pathByteLimit, in: file, at: base))
        }
        return libraries
    }

    private func string(
        _ offset: UInt64, limit: Int, in file: borrowing ExecutableFile, at base: UInt64
    ) throws(ElfProgram.Failure) -> String {
        guard offset < stringByteCount, let text = file.string(at: base + offset, limit: limit)
        else { throw .damaged }
        return text
    }

    // MARK: Symbols

    /// The undefined symbol whose address the dynamic linker writes to `place`; nil if it writes
    /// anything else there, or nothing.
    func importedSymbol(
        at place: UInt64, _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> String? {
        guard let base = try stringTable(segments), let symbols,
            let symbol = try symbol(relocatedAt: place, file, segments)
        else { return nil }
        guard let table = segments.offset(of: symbols) else { throw .damaged }
        let (offset, overflow) = table.addingReportingOverflow(UInt64(symbol) * 24)
        guard !overflow, let entry = file.exactly(24, at: offset) else { throw .damaged }
        // st_shndx 0 is SHN_UNDEF.
        guard entry.littleEndian(at: 6, as: UInt16.self) == 0 else { return nil }
        let name = UInt64(entry.littleEndian(at: 0, as: UInt32.self))
        return try string(name, limit: 256, in: file, at: base)
    }

    private func symbol(
        relocatedAt place: UInt64, _ file: borrowing ExecutableFile,
        _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> UInt32? {
        var others = relocations
        let (skipped, overflow) = relativeCount.multipliedReportingOverflow(by: 24)
        if let address = others.address, !overflow, skipped <= others.byteCount {
            others.address = address.addingReportingOverflow(skipped).partialValue
            others.byteCount -= skipped
        }
        let called = try symbol(relocatedAt: place, by: callRelocations, file, segments)
        if let called { return called }
        return try symbol(relocatedAt: place, by: others, file, segments)
    }

    /// Reads the table in pieces, because tables of several megabytes exist.
    private func symbol(
        relocatedAt place: UInt64, by table: Table, _ file: borrowing ExecutableFile,
        _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> UInt32? {
        guard let address = table.address, table.byteCount >= 24 else { return nil }
        guard let start = segments.offset(of: address),
            table.byteCount / 24 <= UInt64(ElfProgram.relocationLimit)
        else { throw .damaged }
        let count = Int(table.byteCount / 24)
        let chunk = 2048
        for first in stride(from: 0, to: count, by: chunk) {
            let wanted = min(chunk, count - first)
            let (offset, overflow) = start.addingReportingOverflow(UInt64(first) * 24)
            guard !overflow, let entries = file.exactly(wanted * 24, at: offset) else {
                throw .damaged
            }
            for index in 0..<wanted
            where entries.littleEndian(at: index * 24, as: UInt64.self) == place {
                let type = entries.littleEndian(at: index * 24 + 8, as: UInt32.self)
                let addend = entries.littleEndian(at: index * 24 + 16, as: UInt64.self)
                guard ElfProgram.symbolRelocations.contains(type), addend == 0 else { return nil }
                return entries.littleEndian(at: index * 24 + 12, as: UInt32.self)
            }
        }
        return nil
    }

    private func stringTable(_ segments: borrowing Segments) throws(ElfProgram.Failure) -> UInt64? {
        guard let strings else { return nil }
        guard let base = segments.offset(of: strings),
            stringByteCount <= ElfProgram.stringTableByteLimit,
            !base.addingReportingOverflow(stringByteCount).overflow
        else { throw .damaged }
        return base
    }

    /// Whether the string table has one of `words` as a whole entry.
    func mentions(
        _ words: [String], _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> Bool {
        guard let base = try stringTable(segments),
            stringByteCount <= UInt64(ElfProgram.loaderStringByteLimit)
        else { return false }
        let table = file.bytes(at: base, upTo: Int(stringByteCount))
        return table.split(separator: 0).contains { entry in
            words.contains { entry.elementsEqual($0.utf8) }
        }
    }
}
