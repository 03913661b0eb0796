import GreenroomControl
import Varlink

/// The changes that a verb has made to files, as text and as JSON.
struct FileChanges {
    struct Change {
        enum Kind: String { case linked, removed, written }
        var kind: Kind
        var path: String
        var target: String?
    }
    var changes: [Change] = []

    mutating func add(_ kind: Change.Kind, _ path: String, to target: String? = nil) {
        changes.append(Change(kind: kind, path: path, target: target))
    }

    func report(_ console: any Console, json: Bool) {
        if json { return console.write(Report.json(self)) }
        for change in changes {
            let target = change.target.map { " -> \($0)" } ?? ""
            console.line("\(change.kind.rawValue) \(change.path)\(target)")
        }
    }
}

extension FileChanges.Change: ParametersEncodable {
    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind.rawValue)
        writer.member("path", path)
        writer.member("target", ifPresent: target)
    }
}

extension FileChanges: ParametersEncodable {
    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("changes", objects: changes)
    }
}
