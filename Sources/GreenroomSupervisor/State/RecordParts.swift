internal import GreenroomLifecycle

// How the last parts of a record are stored: scenes and sessions, background time, and
// supervision. The lists are short (`sceneLimit`, `sessionLimit`), so a record has room for them.

extension Conversation? {
    func encode(into writer: inout RecordWriter) {
        writer.put(self == nil ? 0 : 1 as UInt8)
        self?.encode(into: &writer)
    }
}

extension Conversation {
    func encode(into writer: inout RecordWriter) {
        writer.put(lastCookie)
        writer.put(UInt8(scenes.count))
        for scene in scenes {
            writer.put(word: scene.scene.rawValue)
            writer.put(UInt8(bitPattern: scene.activation.rawValue))
            writer.put(scene.goal.rawValue | (scene.isConnected ? 4 : 0))
        }
        writer.put(optional: pending?.step.rawValue)
        guard let pending else { return }
        writer.put(word: pending.scene.rawValue)
        writer.put(pending.cookie)
        writer.put(pending.deadline.nanoseconds)
        writer.put(pending.isWarned ? 1 : 0 as UInt8)
    }

    init?(from reader: inout RecordReader) {
        guard let cookie = reader.word(), let count = reader.byte(),
            count <= Conversation.sceneLimit
        else { return nil }
        self.init(scenes: [], lastCookie: cookie)
        for _ in 0..<count {
            guard let scene = SceneRecord(from: &reader) else { return nil }
            scenes.append(scene)
        }
        guard
            let step = reader.optional({ $0.byte().flatMap(LifecycleStep.init(rawValue:)) })
        else { return }
        guard let scene = reader.shortWord(), let cookie = reader.word(),
            let deadline = reader.word(), let warned = reader.byte()
        else { return nil }
        pending = PendingStep(
            step: step, scene: SceneIdentifier(scene), cookie: cookie,
            deadline: Instant(nanoseconds: deadline), isWarned: warned == 1)
    }
}

extension SceneRecord {
    fileprivate init?(from reader: inout RecordReader) {
        guard let scene = reader.shortWord(),
            let activation = reader.byte().flatMap({
                ActivationState(rawValue: Int8(bitPattern: $0))
            }),
            let flags = reader.byte(), let goal = SceneGoal(rawValue: flags & 3)
        else { return nil }
        self.init(
            scene: SceneIdentifier(scene), activation: activation, isConnected: flags & 4 != 0,
            goal: goal)
    }
}

extension AppRecord {
    func encodeSessions(into writer: inout RecordWriter) {
        writer.put(word: lastSession)
        for list in [sessions.suffix(Self.sessionLimit), discarded.suffix(Self.sessionLimit)] {
            writer.put(UInt8(list.count))
            for session in list { writer.put(word: session.rawValue) }
        }
    }

    mutating func decodeSessions(from reader: inout RecordReader) {
        lastSession = reader.shortWord() ?? 0
        sessions = Self.sessions(from: &reader)
        discarded = Self.sessions(from: &reader)
    }

    private static func sessions(from reader: inout RecordReader) -> [SceneIdentifier] {
        let count = min(Int(reader.byte() ?? 0), sessionLimit)
        return (0..<count).compactMap { _ in reader.shortWord().map(SceneIdentifier.init) }
    }
}

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
