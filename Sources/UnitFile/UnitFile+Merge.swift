extension UnitFile {
    /// All files that this was read from: the file itself, then its drop-ins.
    public var files: [String] { [file] + dropIns }

    /// The file that a position is in.
    public func file(at position: Position) -> String {
        position.source == 0 ? file : dropIns[position.source - 1]
    }

    /// Appends a drop-in by the rules of systemd.unit(5): it replaces values and continues lists,
    /// and an empty assignment resets either.
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
