internal import GreenroomLifecycle

// The form of background time at the end of an instance's record.

extension Boxed<BackgroundTime> {
    func encode(into writer: inout RecordWriter) {
        writer.put(value == nil ? 0 : 1 as UInt8)
        value?.encode(into: &writer)
    }
}

extension BackgroundTime {
    func encode(into writer: inout RecordWriter) {
        writer.put(taskCount)
        writer.put((isExpiring ? 1 : 0) | (run?.isExpiring == true ? 2 : 0) as UInt8)
        writer.put(optional: end?.nanoseconds)
        writer.put(optional: run?.number)
        if let run { writer.put(run.end.nanoseconds) }
    }

    init?(from reader: inout RecordReader) {
        guard let count = reader.byte(), count <= Self.taskLimit, let flags = reader.byte() else {
            return nil
        }
        self.init()
        taskCount = count
        isExpiring = flags & 1 != 0
        end = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        guard let number = reader.optional({ $0.word() }) else { return }
        guard let runEnd = reader.word() else { return nil }
        run = RunTime(
            number: number, end: Instant(nanoseconds: runEnd), isExpiring: flags & 2 != 0)
    }
}
