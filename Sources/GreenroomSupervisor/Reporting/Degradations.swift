internal import GreenroomControl
internal import Systemd

/// What the daemon has to do without on this machine, for clients that ask.
@LoopActor
final class Degradations {
    private(set) var notes: [Control.Note] = []
    private let log: Log

    init(log: Log) { self.log = log }

    /// Another spawner may do what the former could not.
    func forget() { notes = [] }

    /// Said once; noted in the place of another of its kind.
    func note(_ note: Control.Note) {
        notes.removeAll { $0.code == note.code }
        notes.append(note)
        log.sayOnce(note.text)
    }
}
