/// The dynamic section's tables, read as far as the questions need.
struct DynamicSection {
    private var needed: [UInt64] = []
    private var strings: UInt64?
    private var stringByteCount: UInt64 = 0
    private var symbols: UInt64?
    private var gnuHash: UInt64?
    private var hash: UInt64?

    init(
        _ file: borrowing ExecutableFile, _ range: Segments.Range
    ) throws(ElfProgram.Failure) {
        guard range.byteCount <= UInt64(ElfProgram.dynamicByteLimit) else { throw .damaged }
        let section = file.bytes(at: range.offset, upTo: Int(range.byteCount))
        var at = 0
        while at + 16 <= section.count {
            let tag = section.littleEndian(at: at, as: UInt64.self)
            let value = section.littleEndian(at: at + 8, as: UInt64.self)
            at += 16
            switch tag {
            case 0: return  // DT_NULL
            case 1: needed.append(value)  // DT_NEEDED
            case 4: hash = value  // DT_HASH
            case 5: strings = value  // DT_STRTAB
            case 6: symbols = value  // DT_SYMTAB
            case 10: stringByteCount = value  // DT_STRSZ
            case 0x6fff_fef5: gnuHash = value  // DT_GNU_HASH
            default: break  // A number of the format, not an enumeration of ours.
            }
        }
        throw .damaged
    }

    /// The libraries that the program names itself.
    func libraries(
        _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> NeededLibraries {
        var libraries = NeededLibraries()
        guard let base = try stringTable(segments) else { return libraries }
        for name in needed {
            guard name < stringByteCount, let text = file.string(at: base + name, limit: 256) else {
                throw .damaged
            }
            libraries.insert(text)
        }
        return libraries
    }

    /// Whether the dynamic symbol table has that name as undefined: the program wants it from a
    /// library.
    func imports(
        _ name: String, _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> Bool {
        guard let base = try stringTable(segments), let symbols else { return false }
        guard let table = segments.offset(of: symbols) else { throw .damaged }
        let places = occurrences(of: name, file, at: base)
        guard !places.isEmpty else { return false }
        let count = try undefinedSymbolLimit(file, segments)
        let chunk = 2048
        for first in stride(from: 0, to: count, by: chunk) {
            let wanted = min(chunk, count - first)
            let (offset, overflow) = table.addingReportingOverflow(UInt64(first) * 24)
            guard !overflow, let entries = file.exactly(wanted * 24, at: offset) else {
                throw .damaged
            }
            for index in 0..<wanted
            where places.contains(UInt64(entries.littleEndian(at: index * 24, as: UInt32.self))) {
                // st_shndx 0 is SHN_UNDEF
                if entries.littleEndian(at: index * 24 + 6, as: UInt16.self) == 0 { return true }
            }
        }
        return false
    }

    private func stringTable(_ segments: borrowing Segments) throws(ElfProgram.Failure) -> UInt64? {
        guard let strings else { return nil }
        guard let base = segments.offset(of: strings),
            stringByteCount <= ElfProgram.stringTableByteLimit,
            !base.addingReportingOverflow(stringByteCount).overflow
        else { throw .damaged }
        return base
    }

    /// Offsets in the string table at which the name stands, terminated; a symbol may point into
    /// the end of a longer one. Reads in pieces: tables of several megabytes exist.
    private func occurrences(
        of name: String, _ file: borrowing ExecutableFile, at base: UInt64
    ) -> Set<UInt64> {
        let pattern = Array(name.utf8) + [0]
        let pieceByteCount = 65_536
        var found: Set<UInt64> = []
        var start: UInt64 = 0
        while start < stringByteCount {
            let wanted = min(UInt64(pieceByteCount + pattern.count - 1), stringByteCount - start)
            let piece = file.bytes(at: base + start, upTo: Int(wanted))
            var at = 0
            while at + pattern.count <= piece.count {
                if piece[at] == pattern[0],
                    piece[at..<at + pattern.count].elementsEqual(pattern)
                {
                    found.insert(start + UInt64(at))
                }
                at += 1
            }
            start += UInt64(pieceByteCount)
        }
        return found
    }

    /// How many symbols can be undefined. The GNU hash table sorts the defined ones behind a first
    /// index; the old one tells how many there are in all.
    private func undefinedSymbolLimit(
        _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) throws(ElfProgram.Failure) -> Int {
        guard let address = hash ?? gnuHash, let offset = segments.offset(of: address),
            let start = file.exactly(8, at: offset)
        else { throw .damaged }
        // DT_HASH: nbucket, nchain. DT_GNU_HASH: nbuckets, symoffset.
        let count = Int(start.littleEndian(at: 4, as: UInt32.self))
        guard count <= ElfProgram.symbolLimit else { throw .damaged }
        return count
    }
}
