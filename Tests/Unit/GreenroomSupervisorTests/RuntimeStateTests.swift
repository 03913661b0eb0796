import GreenroomLifecycle
import TestSupport
import Testing

@testable import GreenroomSupervisor

/// The mapping on plain memory: a second `RuntimeState` over the same bytes is the next supervisor.
final class RuntimeStateTests {
    let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RuntimeState.byteCount, alignment: 4096)

    init() { memory.initializeMemory(as: UInt8.self, repeating: 0) }

    deinit { memory.deallocate() }

    private func open() -> (RuntimeState, RuntimeState.Contents) {
        var contents = RuntimeState.Contents()
        let state = RuntimeState(mapping: memory.baseAddress!, contents: &contents)
        return (state, contents)
    }

    @Test func `a record for which there is no memory is refused, and is saved later`() {
        var contents = RuntimeState.Contents()
        var parts: [Range<Int>] = []
        var isFull = true
        let state = RuntimeState(mapping: memory.baseAddress!, contents: &contents) { part in
            parts.append(part)
            return !isFull
        }
        #expect(!state.save(record(1)))
        #expect(open().1.instances.isEmpty)
        isFull = false
        #expect(state.save(record(1)) && state.save(record(1)))
        #expect(open().1.instances == [record(1)])
        #expect(parts.count == 2)
        #expect(parts.allSatisfy { $0.upperBound <= RuntimeState.byteCount })
    }

    private func record(_ number: UInt64, state: ExecutionState = .prewarmed) -> InstanceRecord {
        record(number, RecordedState(state))
    }

    private func record(_ number: UInt64, _ saved: RecordedState) -> InstanceRecord {
        InstanceRecord(
            instance: InstanceIdentifier(number), app: AppIdentifier("org.example.app\(number)"),
            generation: 7, environmentKey: EnvironmentKey(9), saved: saved,
            since: Instant(nanoseconds: 11))
    }

    private func fullRecord() -> InstanceRecord {
        var saved = RecordedState(.terminating)
        saved.launchedAt = Instant(nanoseconds: 13)
        saved.endReason = .reclaimed
        saved.exitStatus = .signaled(11, coreDumped: true)
        saved.lastState = .suspended
        saved.endedAt = Instant(nanoseconds: 14)
        var full = record(3, saved)
        full.deadline = Instant(nanoseconds: 12)
        full.launchIdentifier = LaunchIdentifier(String(repeating: "x", count: 64))
        full.launchKind = .prewarmed
        full.coldReason = .stale
        full.isAttached = true
        full.byteCount = 1 << 40
        full.isAutomatic = true
        full.isEndOrdered = true
        full.wasOverOwnLimit = true
        full.conversation = Conversation(
            scenes: (1...8).map {
                SceneRecord(
                    scene: SceneIdentifier($0 << 28), activation: .unattached, isConnected: true,
                    goal: .disconnected)
            },
            pending: PendingStep(
                step: .didEnterBackground, scene: SceneIdentifier(3), cookie: 15,
                deadline: Instant(nanoseconds: 16), isWarned: true), lastCookie: 17)
        var time = BackgroundTime()
        time.taskCount = 64
        time.end = Instant(nanoseconds: 18)
        time.isExpiring = true
        time.run = .init(number: 19, end: Instant(nanoseconds: 20), isExpiring: true)
        full.background = .some(time)
        full.user = .max
        full.isKeptFromControl = true
        full.shellUser = .max
        return full
    }

    /// The copy of slot 0 that the control word names (0), or the other copy (1).
    private func copy(_ index: UInt64) -> UnsafeMutableRawPointer {
        let current = memory.load(fromByteOffset: 4096, as: UInt64.self) & 1
        let slots = RuntimeState.instanceSlotCount + RuntimeState.appSlotCount
        return memory.baseAddress! + 4096 + slots * 8
            + Int(current ^ index) * RecordCoding.capacity
    }

    @Test func `a fresh mapping holds nothing`() {
        let (_, contents) = open()
        #expect(contents.instances.isEmpty && contents.apps.isEmpty)
        #expect(contents.nextInstance == InstanceIdentifier(1))
    }

    @Test func `the next supervisor finds every field of every record`() {
        let (state, _) = open()
        var app = AppRecord(app: AppIdentifier("org.example"))
        app.prewarmFailures = 3
        app.prewarmRetryAt = Instant(nanoseconds: 5)
        app.isReclaimed = true
        app.isForceQuit = true
        app.crashes = [1, 2].map { Instant(nanoseconds: $0 * 1_000_000) }
        app.crashLoopUntil = Instant(nanoseconds: 6)
        app.measuredByteCount = 4096
        app.misfiredGeneration = 14
        app.misfireKind = .changesProcess
        app.poolKey = EnvironmentKey(77)
        app.isPoolWanted = true
        app.startAt = Instant(nanoseconds: 8)
        app.isRestart = true
        app.restartCount = 9
        app.restartStreak = 10
        app.starts = [11, 12, 13].map { Instant(nanoseconds: $0 * 1_000_000) }
        app.failure = .permanentStatus
        app.hasSeenBoot = true
        app.hasSeenLogin = true
        app.sessions = [SceneIdentifier(4), SceneIdentifier(2)]
        app.discarded = [SceneIdentifier(3)]
        app.lastSession = .max
        let records = [record(1), record(2, toldToGo), fullRecord()] + endings + situations
        for record in records { #expect(state.save(record)) }
        #expect(state.save(app))
        let (_, contents) = open()
        #expect(contents.instances == records)
        #expect(contents.apps == [app])
        #expect(contents.nextInstance == InstanceIdentifier(15))
    }

    /// Running instances in the phases that clients do not tell apart.
    private var situations: [InstanceRecord] {
        var (starting, frozen) = (RecordedState(.launching), RecordedState(.suspended))
        starting.launchedAt = Instant(nanoseconds: 13)
        frozen.launchedAt = Instant(nanoseconds: 13)
        var (arriving, freezing) = (starting, frozen)
        arriving.conversation = Conversation(
            scenes: [SceneRecord(scene: .application, goal: .foreground)], lastCookie: 1)
        freezing.deadline = Instant(nanoseconds: 12)
        let records = [starting, arriving, freezing, frozen].enumerated().map {
            record(UInt64(11 + $0), $1)
        }
        #expect(records.map(\.phase) == [.starting, .arriving, .freezing, .frozen])
        return records
    }

    private var toldToGo: RecordedState {
        var saved = RecordedState(.launching)
        saved.isToldToGo = true
        return saved
    }

    /// Records in every state of an end: asked to end; with a rest that was left running and later
    /// suspended; with a rest that is being ended; ended; never executed; and with no process left
    /// before the end was reported, while the instance ran or was being ended.
    private var endings: [InstanceRecord] {
        func saved(
            _ state: ExecutionState, _ status: GreenroomLifecycle.ExitStatus? = nil,
            _ last: ExecutionState? = nil, launchedAt: UInt64? = 13
        ) -> RecordedState {
            var saved = RecordedState(state)
            saved.launchedAt = launchedAt.map(Instant.init(nanoseconds:))
            saved.exitStatus = status
            saved.lastState = last
            if last != nil { saved.endReason = status == nil ? .terminated : .exitedSelf }
            if status != nil { saved.endedAt = Instant(nanoseconds: 14) }
            return saved
        }
        var unexecuted = saved(.notRunning, nil, .launching, launchedAt: nil)
        unexecuted.endedAt = Instant(nanoseconds: 14)
        unexecuted.isEmpty = true
        var ended = saved(.notRunning, .exited(3), .background)
        ended.isEmpty = true
        var deserted = saved(.active)
        deserted.isEmpty = true
        var desertedByOrder = saved(.terminating, nil, .active)
        desertedByOrder.isEmpty = true
        let all = [
            saved(.terminating, nil, .launching, launchedAt: nil),
            saved(.suspended, .exited(0), .active), saved(.terminating, .unknown, .inactive),
            ended, unexecuted, deserted, desertedByOrder,
        ]
        return zip(UInt64(4)..., all).map { record($0, $1) }
    }

    @Test func `the largest record of an app fits`() {
        let (state, _) = open()
        let name = "org.example.template@" + String(repeating: "x", count: 200 - 21)
        var app = AppRecord(app: AppIdentifier(name))
        let late = (0..<16).map { Instant(nanoseconds: (1 << 62) + UInt64($0) * 1_000_000) }
        app.prewarmRetryAt = late[0]
        app.launchRetryAt = late[0]
        app.crashes = late
        app.starts = late
        app.crashLoopUntil = late[0]
        app.poolKey = EnvironmentKey(.max)
        app.startAt = late[0]
        app.failure = .permanentStatus
        app.sessions = (0..<8).map { SceneIdentifier(.max - $0) }
        app.discarded = app.sessions
        app.misfiredGeneration = .max
        #expect(state.save(app))
        #expect(open().1.apps == [app])
    }

    @Test func `a saved record replaces the former one and an erased one is gone`() {
        let (state, _) = open()
        for number in 1...3 { state.save(record(UInt64(number))) }
        for round in 0..<5 {
            state.save(record(2, state: round % 2 == 0 ? .active : .background))
        }
        state.erase(InstanceIdentifier(1))
        let (_, contents) = open()
        #expect(contents.instances.map(\.instance.rawValue) == [2, 3])
        #expect(contents.instances[0].state == .active)
    }

    @Test func `an identifier is not reused after its record was erased`() {
        let (state, _) = open()
        state.save(record(41))
        state.erase(InstanceIdentifier(41))
        #expect(open().1.nextInstance == InstanceIdentifier(42))
    }

    @Test func `an interrupted write leaves the former record intact`() {
        let (state, _) = open()
        state.save(record(1, state: .active))
        let before = open().1.instances
        // A kill during a write leaves garbage in the copy that the control word does not name.
        copy(1).initializeMemory(as: UInt8.self, repeating: 0xaa, count: RecordCoding.capacity)
        #expect(open().1.instances == before)
    }

    @Test func `a damaged record is counted, freed and never trusted`() {
        let (state, _) = open()
        state.save(record(1))
        state.save(record(2))
        copy(0).storeBytes(of: 99, as: UInt8.self)
        let (_, contents) = open()
        #expect(contents.damagedCount == 1)
        #expect(contents.instances.count == 1)
        #expect(open().1.damagedCount == 0)
    }

    /// A waiting instance may have read what a launch brings, because nobody knows the depth.
    @Test(arguments: [ExecutionState.prewarming, .prewarmed, .launching, .active])
    func `a depth of a newer daemon is not believed, except of what runs`(state: ExecutionState) {
        var record = record(1, state == .launching ? toldToGo : RecordedState(state))
        record.depth = .window
        let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: RecordCoding.capacity, alignment: 8)
        defer { bytes.deallocate() }
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        var writer = RecordWriter(bytes)
        record.encode(into: &writer)
        // The reason for a start anew follows; here there is none.
        let last = bytes.lastIndex { $0 == PrewarmDepth.window.rawValue }!
        func read() -> InstanceRecord? {
            var reader = RecordReader(UnsafeRawBufferPointer(bytes))
            return InstanceRecord(from: &reader)
        }
        #expect(read() == record)
        bytes[last] = 200
        #expect(read()?.depth == (state == .active ? .main : nil))
    }

    @Test func `a number that cannot be incremented counts as damage`() {
        var (state, _) = open()
        #expect(state.save(record(5)))
        #expect(state.save(record(.max - 1)))
        var (_, contents) = open()
        #expect(contents.damagedCount == 2)
        #expect(contents.instances.map(\.instance.rawValue) == [5])
        #expect(contents.nextInstance == InstanceIdentifier(6))
        memory.storeBytes(of: .max, toByteOffset: 8, as: UInt64.self)
        (state, contents) = open()
        #expect(contents.nextInstance == InstanceIdentifier(6))
        #expect(state.save(record(6)))
    }

    @Test func `random bytes in the mapping never crash the reader`() {
        var generator = SeededGenerator()
        let (state, _) = open()
        for number in 1...200 { state.save(record(UInt64(number))) }
        for _ in 0..<200_000 {
            let offset = 8 + Int(generator.next(upperBound: UInt64(memory.count - 8)))
            memory[offset] = UInt8.random(in: 0...255, using: &generator)
        }
        let (_, contents) = open()
        #expect(contents.instances.count + contents.damagedCount <= RuntimeState.instanceSlotCount)
    }
}
