internal import GreenroomLifecycle

extension AppRecord {
    func encodeSupervision(into writer: inout RecordWriter) {
        writer.put(optional: startAt?.nanoseconds)
        writer.put(failure?.rawValue ?? 0)
        writer.put(UInt64(restartCount) << 32 | UInt64(restartStreak))
        writer.put(starts.suffix(Supervision.startLimitBurstMaximum))
    }

    mutating func decodeSupervision(from reader: inout RecordReader) {
        startAt = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        failure = SupervisionFailure(rawValue: reader.byte() ?? 0)
        let counts = reader.word() ?? 0
        restartCount = UInt32(truncatingIfNeeded: counts >> 32)
        restartStreak = UInt32(truncatingIfNeeded: counts)
        starts = reader.instants(atMost: Supervision.startLimitBurstMaximum)
    }
}
