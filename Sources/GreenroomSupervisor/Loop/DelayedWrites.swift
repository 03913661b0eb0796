internal import Systemd

/// Files that change more often than they should be written. Each is written once, some time after
/// its first change, by rounds of the loop that have the lowest priority. Nothing wakes up while no
/// file waits.
@LoopActor
final class DelayedWrites<Key: Hashable> {
    private let delay: Duration
    private let accuracy: Duration
    private let write: (Key) -> Void
    private let onEmpty: () -> Void
    private var waiting: Set<Key> = []
    private var timer: EventSource?
    private lazy var rounds = Rounds(priority: LoopPriority.idle) { [unowned self] in
        writeSome()
    }

    /// At most this many files are written in a row. Then other work comes first, such as launches,
    /// which creating files slows down.
    private var writesInARow: Int { 4 }

    /// - Parameters:
    ///   - delay: the time between a change and the beginning of writing. A daemon that is killed
    ///     loses what has changed in this time, and what has changed since then if the loop was
    ///     never idle.
    ///   - accuracy: how much longer than that it may be.
    ///   - write: writes the file with this key.
    ///   - onEmpty: called when no file waits any more.
    init(
        after delay: Duration, accuracy: Duration, _ write: @escaping (Key) -> Void,
        onEmpty: @escaping () -> Void = {}
    ) {
        self.delay = delay
        self.accuracy = accuracy
        self.write = write
        self.onEmpty = onEmpty
    }

    func contains(_ key: Key) -> Bool { waiting.contains(key) }

    /// The file has changed. If no timer can be made (out of memory, for example), everything is
    /// written at once.
    func ask(_ key: Key) {
        waiting.insert(key)
        if timer?.isEnabled == true { return }
        do throws(SystemdError) {
            if timer == nil {
                timer = try LoopActor.timer(accuracy: accuracy, priority: LoopPriority.idle) {
                    [unowned self] in writeSome()
                }
            }
            try timer!.setDeadline(after: delay)
        } catch { writeAll() }
    }

    /// The file was written for another reason, or is not to be written any more.
    func drop(_ key: Key) {
        waiting.remove(key)
        if waiting.isEmpty { timer?.isEnabled = false }
    }

    /// Writes at once everything that waits.
    func writeAll() {
        timer?.isEnabled = false
        while let key = waiting.popFirst() { write(key) }
        onEmpty()
    }

    private func writeSome() {
        for _ in 0..<writesInARow {
            guard let key = waiting.popFirst() else {
                // The timer was armed again for files that have been written by now.
                timer?.isEnabled = false
                return onEmpty()
            }
            write(key)
        }
        do throws(SystemdError) { try rounds.ask() } catch { writeAll() }
    }
}
