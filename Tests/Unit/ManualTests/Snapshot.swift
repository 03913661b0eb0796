import Glibc
import Testing

/// Holds a text against the file of that name in `Snapshots`; with UPDATE_SNAPSHOTS=1 the file
/// becomes the text (`make snapshots`).
func expectSnapshot(
    _ text: String, _ name: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let folder = #filePath.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    let path = folder + "/Snapshots/" + name
    if getenv("UPDATE_SNAPSHOTS") != nil { try writeFile(path, text) }
    #expect(
        try readFile(path) == text, "\"make snapshots\" writes \(name) again",
        sourceLocation: sourceLocation)
}
