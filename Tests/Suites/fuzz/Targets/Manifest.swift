import GreenroomManifest
import UnitFile

/// The position of every diagnostic must be in the file, and there must be a manifest or a reason.
func fuzzManifest(_ input: Input) {
    let bytes = input.rest
    let (manifest, diagnostics) = AppManifest.parse(bytes, file: "/a/org.example.x.app") { name in
        name.utf8.count.isMultiple(of: 2) ? "/bin/" + name : nil
    }
    check(diagnostics, bytes)
    if manifest == nil, diagnostics.isEmpty { fatalError("no manifest and no reason") }
}

func fuzzConfiguration(_ input: Input) {
    let bytes = input.rest
    let (configuration, diagnostics) = DaemonConfiguration.parse(bytes, file: "/a/greenroom.conf")
    check(diagnostics, bytes)
    if configuration == nil, diagnostics.isEmpty { fatalError("no configuration and no reason") }
}

/// Applies every reader of values to every value. None may trap.
func fuzzUnitFile(_ input: Input) {
    let bytes = input.rest
    let (unit, diagnostics) = UnitFile.parse(bytes, file: "/a/x.app")
    check(diagnostics, bytes)
    for section in unit.sections {
        for assignment in section.assignments {
            let value = assignment.value
            _ = try? value.words()
            _ = try? value.boolean()
            _ = try? value.integer(-10...10)
            _ = try? value.octalMode()
            _ = try? value.bytes()
            _ = try? value.duration()
            _ = try? value.signal()
            for offset in [0, 1, value.text.utf8.count, value.text.utf8.count + 1] {
                _ = value.position(at: offset)
            }
        }
    }
}

private func check(_ diagnostics: [Diagnostic], _ bytes: [UInt8]) {
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    for diagnostic in diagnostics {
        let position = diagnostic.position
        guard position.line >= 1, position.column >= 1, position.line <= lines.count else {
            fatalError("\(diagnostic) is outside of the file")
        }
        if position.column > lines[position.line - 1].count + 1 {
            fatalError("\(diagnostic) is outside of its line")
        }
        _ = diagnostic.description
    }
}
