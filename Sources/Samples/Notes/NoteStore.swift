internal import Glibc

/// The notes, one per line. Their file is the one that `NOTES_FILE` names; by default `notes.txt`
/// in the app's own folder or, if the app is run by hand, `greenroom-notes.txt` in the user's data
/// directory.
@MainActor
final class NoteStore {
    private var lines: [String]?
    private let path: String

    init() {
        func variable(_ name: String) -> String? {
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
        let data =
            variable("XDG_DATA_HOME") ?? (variable("HOME") ?? "/tmp") + "/.local/share"
        let own = variable("STATE_DIRECTORY").map { $0 + "/notes.txt" }
        path = variable("NOTES_FILE") ?? own ?? data + "/greenroom-notes.txt"
    }

    var notes: [String] {
        load()
        return lines ?? []
    }

    /// Reads the file, once. A file that does not exist has no notes.
    func load() {
        guard lines == nil else { return }
        lines = []
        guard let file = unsafe fopen(path, "re") else { return }
        defer { unsafe fclose(file) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while case let count = unsafe fread(&part, 1, part.count, file), count > 0 {
            text += part[..<count]
        }
        lines = text.split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Adds a note for a user who has none.
    func welcome() {
        if notes.isEmpty { _ = add("Welcome. 'new' makes a note, 'delete 1' removes this one.") }
    }

    /// - Returns: the note's number.
    func add(_ text: String) -> Int {
        load()
        lines?.append(text)
        save()
        return lines?.count ?? 0
    }

    func remove(_ index: Int) -> Bool {
        guard notes.indices.contains(index) else { return false }
        lines?.remove(at: index)
        save()
        return true
    }

    /// Writes all notes to a new file, which replaces the old one.
    func save() {
        guard let lines else { return }
        let new = path + ".new"
        guard let file = unsafe fopen(new, "we") else { return complain() }
        for line in lines { unsafe fputs(line + "\n", file) }
        guard unsafe fclose(file) == 0, unsafe rename(new, path) == 0 else { return complain() }
    }

    private func complain() { Terminal.say("\(path) cannot be written: errno \(errno)") }
}
