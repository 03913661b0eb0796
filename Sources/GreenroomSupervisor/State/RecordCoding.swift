internal import GreenroomLifecycle

/// The form of records in the runtime state: little-endian, in a fixed order, strings with a length
/// byte. A record that does not decode becomes nil and is dropped by the caller, never trusted.
enum RecordCoding {
    /// In bytes. A record never needs more: 255 bytes for the app, 64 for the launch identifier,
    /// and fixed fields.
    static let capacity = 512
    /// The version of an instance's record as written below. Older versions are read from
    /// `oldestVersion` on.
    static let version: UInt8 = 9
    /// Version 2 has no background time; version 3 does not say whether the control socket is kept
    /// from the instance; version 4 does not say what its other threads do; version 5 has no depth;
    /// version 6 does not say whose shell has shown it; version 7 does not know of names on a bus;
    /// version 8 names the user only if the control socket is kept from the instance.
    static let oldestVersion: UInt8 = 2
    /// The version of an app's record. Version 1 has no supervision, version 2 no sessions, version
    /// 3 has its crashes in full, version 4 has no misfire, version 5 no depth.
    static let appVersion: UInt8 = 6
    /// At most this many crashes of an app are remembered across a restart, even if
    /// `CrashLoopCount=` is greater. They fit beside the longest identifier, all starts and all
    /// sessions.
    static let crashLimit = 16
}

extension InstanceRecord {
    func encode(into writer: inout RecordWriter) {
        writer.put(RecordCoding.version)
        writer.put(instance.rawValue)
        writer.put(app.rawValue)
        writer.put(generation)
        writer.put(environmentKey.rawValue)
        writer.put(state.rawValue)
        writer.put(since.nanoseconds)
        writer.put(optional: deadline?.nanoseconds)
        writer.put(optional: launchIdentifier?.rawValue)
        writer.put(optional: launchKind?.rawValue)
        writer.put(optional: coldReason?.rawValue)
        writer.put(optional: launchedAt?.nanoseconds)
        writer.put(
            (phase == .toldToGo ? 1 : 0) | (inBackground ? 2 : 0) | (isAttached ? 4 : 0)
                | (isEmpty ? 8 : 0) | (isAutomatic ? 16 : 0) | (isEndOrdered ? 32 : 0)
                | (wasOverOwnLimit ? 64 : 0) | (showsLaunchScreen ? 128 : 0) as UInt8)
        writer.put(lastUsed.nanoseconds)
        writer.put(byteCount)
        writer.put(optional: endReason?.rawValue)
        writer.put(optional: exitStatus?.encoded)
        writer.put(optional: lastState?.rawValue)
        writer.put(optional: endedAt?.nanoseconds)
        conversation.encode(into: &writer)
        background.encode(into: &writer)
        writer.put(optional: user.map(UInt64.init))
        writer.put(otherThreads.rawValue | (isInterrupted ? 128 : 0))
        writer.put(depth.rawValue)
        writer.put(optional: anewReason?.rawValue)
        writer.put(optional: shellUser.map(UInt64.init))
        writer.put((wantsName ? 1 : 0) | (isKeptFromControl ? 2 : 0) as UInt8)
    }

    init?(from reader: inout RecordReader) {
        guard let version = reader.byte(),
            RecordCoding.oldestVersion...RecordCoding.version ~= version,
            let instance = reader.word(),
            let app = reader.string(), let generation = reader.word(), let key = reader.word(),
            let state = reader.byte().flatMap(ExecutionState.init(rawValue:)),
            let since = reader.word()
        else { return nil }
        var saved = RecordedState(state)
        saved.deadline = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        let launchIdentifier = reader.optional { $0.string().map(LaunchIdentifier.init) }
        let launchKind = reader.optional { $0.byte().flatMap(LaunchKind.init(rawValue:)) }
        let coldReason = reader.optional { $0.byte().flatMap(ColdReason.init(rawValue:)) }
        saved.launchedAt = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        guard let flags = reader.byte(), let used = reader.word(), let bytes = reader.word()
        else { return nil }
        saved.isToldToGo = flags & 1 != 0
        saved.isEmpty = flags & 8 != 0
        saved.endReason = reader.optional { $0.byte().flatMap(ExitReason.init(rawValue:)) }
        saved.exitStatus = reader.optional { $0.word().flatMap(ExitStatus.init(encoded:)) }
        saved.lastState = reader.optional { $0.byte().flatMap(ExecutionState.init(rawValue:)) }
        saved.endedAt = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        saved.conversation = reader.optional { Conversation(from: &$0) }
        self.init(
            instance: InstanceIdentifier(instance), app: AppIdentifier(app),
            generation: generation, environmentKey: EnvironmentKey(key), saved: saved,
            since: Instant(nanoseconds: since))
        self.launchIdentifier = launchIdentifier
        self.launchKind = launchKind
        self.coldReason = coldReason
        inBackground = flags & 2 != 0
        isAttached = flags & 4 != 0
        isAutomatic = flags & 16 != 0
        isEndOrdered = flags & 32 != 0
        wasOverOwnLimit = flags & 64 != 0
        showsLaunchScreen = flags & 128 != 0
        lastUsed = Instant(nanoseconds: used)
        byteCount = bytes
        if version > 2 { background = Boxed(reader.optional { BackgroundTime(from: &$0) }) }
        if version > 3 {
            user = reader.optional { $0.word().map { UInt32(truncatingIfNeeded: $0) } }
            isKeptFromControl = version < 9 && user != nil
        }
        if version > 4 {
            // A former daemon never set the highest bit.
            let byte = reader.byte() ?? 0
            otherThreads = OtherThreads(rawValue: byte & 127) ?? OtherThreads.none
            isInterrupted = byte & 128 != 0
        }
        if version > 5 {
            let known = reader.byte().flatMap(PrewarmDepth.init(rawValue:))
            // A newer daemon prepares programs in ways that this one does not know, so nobody here
            // knows what a launch may bring them. An instance that runs already is not concerned.
            if known == nil, self.state.isPrewarm || phase == .toldToGo { return nil }
            depth = known ?? .main
            anewReason = reader.optional { $0.byte().flatMap(AnewReason.init(rawValue:)) }
        }
        if version > 6 {
            shellUser = reader.optional { $0.word().map { UInt32(truncatingIfNeeded: $0) } }
        }
        if version > 7 {
            let flags = reader.byte() ?? 0
            wantsName = flags & 1 != 0
            if version > 8 { isKeptFromControl = flags & 2 != 0 }
        }
        guard !reader.failed else { return nil }
    }
}

extension AppRecord {
    func encode(into writer: inout RecordWriter) {
        writer.put(RecordCoding.appVersion)
        writer.put(app.rawValue)
        writer.put(UInt64(prewarmFailures))
        writer.put(optional: prewarmRetryAt?.nanoseconds)
        writer.put(UInt64(launchFailures))
        writer.put(optional: launchRetryAt?.nanoseconds)
        writer.put(crashes.suffix(RecordCoding.crashLimit))
        writer.put(optional: crashLoopUntil?.nanoseconds)
        writer.put(measuredByteCount)
        writer.put(optional: poolKey?.rawValue)
        writer.put(
            (isPoolWanted ? 1 : 0) | (isRestart ? 2 : 0) | (hasSeenBoot ? 4 : 0)
                | (hasSeenLogin ? 8 : 0) | (isReclaimed ? 16 : 0) | misfireKind.rawValue << 5
                | (isForceQuit ? 128 : 0) as UInt8)
        encodeSupervision(into: &writer)
        encodeSessions(into: &writer)
        writer.put(optional: misfiredGeneration)
        depth.encode(into: &writer)
    }

    init?(from reader: inout RecordReader) {
        guard let version = reader.byte(), 1...RecordCoding.appVersion ~= version,
            let app = reader.string(),
            let prewarmFailures = reader.word()
        else { return nil }
        self.init(app: AppIdentifier(app))
        self.prewarmFailures = UInt32(truncatingIfNeeded: prewarmFailures)
        prewarmRetryAt = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        launchFailures = UInt32(truncatingIfNeeded: reader.word() ?? 0)
        launchRetryAt = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        if version > 3 {
            crashes = reader.instants(atMost: RecordCoding.crashLimit)
        } else {
            for _ in 0..<(reader.byte() ?? 0) {
                guard let crash = reader.word() else { return nil }
                crashes.append(Instant(nanoseconds: crash))
            }
        }
        crashLoopUntil = reader.optional { $0.word().map(Instant.init(nanoseconds:)) }
        measuredByteCount = reader.word() ?? 0
        poolKey = reader.optional { $0.word().map(EnvironmentKey.init) }
        let flags = reader.byte() ?? 0
        isPoolWanted = flags & 1 != 0
        isRestart = flags & 2 != 0
        hasSeenBoot = flags & 4 != 0
        hasSeenLogin = flags & 8 != 0
        isReclaimed = flags & 16 != 0
        misfireKind = Misfire.Kind(rawValue: flags >> 5 & 3) ?? .startsPrograms
        // A former daemon never set this bit.
        isForceQuit = flags & 128 != 0
        if version > 1 { decodeSupervision(from: &reader) }
        if version > 2 { decodeSessions(from: &reader) }
        if version > 4 { misfiredGeneration = reader.optional { $0.word() } }
        if version > 5 { depth = DepthRecord(from: &reader) }
        guard !reader.failed else { return nil }
    }
}

extension DepthRecord {
    fileprivate func encode(into writer: inout RecordWriter) {
        writer.put(UInt64(anewCount) << 8 | UInt64(anewStreak))
        writer.put(optional: latestAnew?.rawValue)
        writer.put(
            optional: demotion.map {
                $0.fault.rawValue | ($0.isOfWindow ? 128 : 0) | ($0.sparesWindow ? 64 : 0)
            })
        guard let demotion else { return }
        writer.put(demotion.generation)
        writer.put(optional: demotion.environmentKey?.rawValue)
    }

    fileprivate init(from reader: inout RecordReader) {
        self.init()
        let counts = reader.word() ?? 0
        anewCount = UInt32(truncatingIfNeeded: counts >> 8)
        anewStreak = UInt8(truncatingIfNeeded: counts)
        latestAnew = reader.optional { $0.byte().flatMap(AnewReason.init(rawValue:)) }
        guard let fault = reader.optional({ $0.byte() }), let generation = reader.word() else {
            return
        }
        let key = reader.optional { $0.word().map(EnvironmentKey.init) }
        // A former daemon never set the highest bits.
        demotion = DepthFault(rawValue: fault & 63).map {
            Demotion(
                generation: generation, environmentKey: key, fault: $0,
                isOfWindow: fault & 128 != 0, sparesWindow: fault & 64 != 0)
        }
    }
}

extension ExitStatus {
    /// The kind of end (wait(2)) in the low byte, then the status or signal, then the core flag.
    fileprivate var encoded: UInt64 {
        switch self {
        case .unknown: 0
        case .exited(let status): 1 | UInt64(status) << 8
        case .signaled(let signal, let coreDumped):
            2 | UInt64(signal) << 8 | (coreDumped ? 1 << 16 : 0)
        }
    }
    fileprivate init?(encoded: UInt64) {
        let value = UInt8(truncatingIfNeeded: encoded >> 8)
        switch UInt8(truncatingIfNeeded: encoded) {
        case 0: self = .unknown
        case 1: self = .exited(value)
        case 2: self = .signaled(value, coreDumped: encoded >> 16 & 1 == 1)
        default: return nil
        }
    }
}
