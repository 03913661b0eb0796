internal import GreenroomControl
internal import Systemd

/// What the daemon has to do without on this machine, kept for clients that ask.
@LoopActor
final class Degradations {
    private(set) var notes: [Control.Note] = []
    private let log: Log

    init(log: Log) { self.log = log }

    /// Another spawner may be able to do what the former one could not.
    func forgetSpawners() { Self.spawnerCodes.forEach(forget) }

    private static let spawnerCodes: Set = ["no_cgroups", "no_guard", "no_spawner"]

    /// The machine has again what the note says it lacks. The next time is logged, too.
    func forget(_ code: String) {
        for note in notes where note.code == code { log.forget(note.text) }
        notes.removeAll { $0.code == code }
    }

    /// Logs the note once, and keeps it in place of a note with the same code.
    func note(_ note: Control.Note) {
        if !notes.contains(where: { $0.code == note.code && $0.text == note.text }) {
            forget(note.code)
        }
        notes.removeAll { $0.code == note.code }
        notes.append(note)
        log.sayOnce(note.text)
    }
}
