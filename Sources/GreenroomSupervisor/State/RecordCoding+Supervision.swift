internal import GreenroomLifecycle

extension AppRecord {
    func encodeSupervision(into writer: inout RecordWriter) {
        writer.put(optional: startAt?.nanoseconds)
        writer.put(failure?.rawValue ?? 0)
        writer.put(UInt64(restartCount) << 32 | UInt64(restartStreak))
        let kept = starts.suffix(Supervision.startLimitBurstMaximum)
        writer.put(UInt8(kept.count))
        guard let latest = kept.last else { return }
        // The latest in full, the others as milliseconds before it: a record is short.
        writer.put(latest.nanoseconds)
        for start in kept.dropLast() {
            let milliseconds = start.duration(to: latest).microseconds / 1000
            let clamped = UInt32(clamping: milliseconds)
            for shift in [0, 8, 16, 24] as [UInt32] {
                writer.put(UInt8(truncatingIfNeeded: clamped >> shift))
            }
        }
    }

    mutating func decodeSupervision(from reader: inout RecordReader) {
        startAt = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        failure = SupervisionFailure(rawValue: reader.byte() ?? 0)
        let counts = reader.word() ?? 0
        restartCount = UInt32(truncatingIfNeeded: counts >> 32)
        restartStreak = UInt32(truncatingIfNeeded: counts)
        let count = Int(reader.byte() ?? 0)
        guard count > 0, count <= Supervision.startLimitBurstMaximum,
            let latest = reader.word().map(Instant.init(nanoseconds:))
        else { return }
        for _ in 1..<count {
            var milliseconds: UInt32 = 0
            for shift in [0, 8, 16, 24] as [UInt32] {
                milliseconds |= UInt32(reader.byte() ?? 0) << shift
            }
            starts.append(latest.advanced(by: .zero - .milliseconds(Int64(milliseconds))))
        }
        starts.append(latest)
    }
}
