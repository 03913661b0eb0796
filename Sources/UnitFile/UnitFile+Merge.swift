extension UnitFile {
    /// Every file that this was read from: the file itself, then its drop-ins.
    public var files: [String] { [file] + dropIns }

    /// The file that a position is in.
    public func file(at position: Position) -> String {
        position.source == 0 ? file : dropIns[position.source - 1]
    }

    /// Adds what a drop-in says behind what stands here, as systemd.unit(5) merges them: a value is
    /// replaced, a list goes on, an empty assignment takes back both.
    public mutating func append(dropIn: UnitFile) {
        dropIns.append(dropIn.file)
        for var section in dropIn.sections {
            section.move(to: dropIns.count)
            sections.append(section)
        }
    }
}

extension UnitFile.Section {
    fileprivate mutating func move(to source: Int) {
        position.source = source
        for index in assignments.indices {
            assignments[index].position.source = source
            for piece in assignments[index].value.pieces.indices {
                assignments[index].value.pieces[piece].position.source = source
            }
        }
    }
}
