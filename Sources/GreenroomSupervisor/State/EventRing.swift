internal import Synchronization

/// The latest events and their numbers, after the runtime state in the mapping that the spawner
/// keeps. Whoever watched before a `kill -9` of the supervisor can continue after it.
///
///     magic | open turn | count of all | head | tail | users' counts | bytes of the ring
///
/// Users who may see only their own apps are told about these with separate numbers: gaps in common
/// numbers would tell them of others. Head and tail count bytes and never go back. A record is
/// written first and counts once the head has moved past it, by one atomic store.
///
/// A supervisor that dies while it decides may have saved something that it never told. The open
/// turn shows this, and the next supervisor skips one number for everybody. Watchers are told about
/// this gap.
@safe final class EventRing {
    /// The watchers that a sequence of event numbers is for.
    enum Audience: Hashable {
        /// Watchers that may observe every app.
        case all
        /// Watchers that see the apps of this user.
        case user(UInt32)
    }

    /// At some 250 bytes an event, room for a thousand events.
    static let byteCount = 256 << 10
    private static let headerByteCount = 4096
    private static let capacity = UInt64(byteCount - headerByteCount)
    private static let magic: UInt64 = 0x3130_544E_4556_4552  // "REVENT01"
    /// At most this many users have numbers of their own. Events of further users are told only to
    /// those who see all.
    private static let userLimit = 200
    /// A greater number is damage.
    private static let countLimit: UInt64 = 1 << 62

    private enum Offset {
        static let openTurn = 8
        static let count = 16
        static let head = 24
        static let tail = 32
        static let users = 64
    }

    /// The length, the owner, the number among all events, the number among the owner's; then the
    /// event.
    private static let recordHeaderByteCount = 24
    private static let nobody = UInt32.max

    private let base: UnsafeMutableRawPointer
    private let first: UInt64
    private var users: [UInt32: Int] = [:]

    /// The time since 1970 UTC.
    static var milliseconds: UInt64 { UInt64(max(0, WallClock.nowMicroseconds / 1000)) }

    /// Takes over `byteCount` bytes of memory, which stay mapped for as long as this object exists.
    /// Zeroed memory holds nothing.
    ///
    /// - Parameter first: where numbers begin if nobody has counted before: later with every boot,
    ///   so that a number of an earlier boot is never taken for one of this boot.
    init(mapping: UnsafeMutableRawPointer, first: UInt64 = EventRing.milliseconds) {
        unsafe base = unsafe mapping
        self.first = first
        if word(0) != Self.magic || !isSound {
            unsafe mapping.initializeMemory(
                as: UInt8.self, repeating: 0, count: Self.headerByteCount)
            set(0, Self.magic)
            set(Offset.count, first)
        }
        for index in 0..<Self.userLimit where word(Offset.users + 16 * index) != 0 {
            users[UInt32(truncatingIfNeeded: word(Offset.users + 16 * index) - 1)] = index
        }
        if word(Offset.openTurn) != 0 { leaveOut() }
    }

    /// Continues in other memory.
    func move(to mapping: UnsafeMutableRawPointer) -> EventRing {
        // The supervisor is still the same, so it will tell what it has not told yet.
        isTurnOpen = false
        unsafe mapping.copyMemory(from: base, byteCount: Self.byteCount)
        return unsafe EventRing(mapping: mapping)
    }

    /// Whether something may have been decided that has not been told yet.
    var isTurnOpen: Bool {
        get { word(Offset.openTurn) != 0 }
        set { set(Offset.openTurn, newValue ? 1 : 0) }
    }

    // MARK: Numbers

    /// The number of the latest event.
    func latest(for audience: Audience) -> UInt64 {
        switch audience {
        case .all: word(Offset.count)
        case .user(let user): index(of: user).map { word(Offset.users + 16 * $0 + 8) } ?? first
        }
    }

    /// Skips a number, because nobody knows what the former supervisor did last.
    private func leaveOut() {
        set(Offset.count, word(Offset.count) + 1)
        for index in users.values { _ = count(ofUser: index) }
        isTurnOpen = false
    }

    private func index(of user: UInt32) -> Int? {
        if let index = users[user] { return index }
        guard users.count < Self.userLimit else { return nil }
        let index = users.count
        users[user] = index
        set(Offset.users + 16 * index + 8, max(first, Self.milliseconds))
        set(Offset.users + 16 * index, UInt64(user) + 1)
        return index
    }

    private func count(ofUser index: Int) -> UInt64 {
        let number = word(Offset.users + 16 * index + 8) + 1
        set(Offset.users + 16 * index + 8, number)
        return number
    }

    // MARK: Events

    /// Adds an event, which takes the place of the oldest ones.
    ///
    /// - Parameters:
    ///   - owner: the user of the event's app; nil if only those who may see all are told.
    ///   - bytes: the event, in any form.
    /// - Returns: the event's number among all events, and its number among the owner's.
    func append(_ bytes: [UInt8], owner: UInt32?) -> (all: UInt64, owned: UInt64?) {
        let all = word(Offset.count) + 1
        set(Offset.count, all)
        let owned = owner.flatMap { index(of: $0) }.map { count(ofUser: $0) }
        let length = UInt64(Self.recordHeaderByteCount + bytes.count)
        // The event has its number, so a watcher that asks for it is told about a gap.
        guard length <= Self.capacity / 4 else { return (all, owned) }
        let head = word(Offset.head)
        var tail = word(Offset.tail)
        while head + length - tail > Self.capacity { tail += UInt64(self.length(at: tail)) }
        set(Offset.tail, tail)
        var record = [UInt8](repeating: 0, count: Self.recordHeaderByteCount)
        unsafe record.withUnsafeMutableBytes { record in
            unsafe record.storeBytes(of: UInt32(length), as: UInt32.self)
            unsafe record.storeBytes(
                of: owned == nil ? Self.nobody : owner ?? Self.nobody, toByteOffset: 4,
                as: UInt32.self)
            unsafe record.storeBytes(of: all, toByteOffset: 8, as: UInt64.self)
            unsafe record.storeBytes(of: owned ?? 0, toByteOffset: 16, as: UInt64.self)
        }
        write(record, at: head)
        write(bytes, at: head + UInt64(record.count))
        set(Offset.head, head + length)
        return (all, owned)
    }

    /// The position of the next event.
    var end: UInt64 { word(Offset.head) }

    /// The position of the oldest event that is kept.
    var beginning: UInt64 { word(Offset.tail) }

    /// The event at a position, and the position of the next one; nil at the end. In place of an
    /// event that was overwritten, the oldest that is kept is returned.
    ///
    /// - Returns: the number is nil if the event is not for this audience.
    func event(
        at position: UInt64, for audience: Audience
    ) -> (number: UInt64?, bytes: [UInt8], next: UInt64)? {
        let position = max(position, beginning)
        guard position < end else { return nil }
        let record = read(Self.recordHeaderByteCount, at: position)
        let (length, owner, all, owned) = unsafe record.withUnsafeBytes { record in
            unsafe (
                record.load(as: UInt32.self), record.load(fromByteOffset: 4, as: UInt32.self),
                record.load(fromByteOffset: 8, as: UInt64.self),
                record.load(fromByteOffset: 16, as: UInt64.self)
            )
        }
        let number: UInt64?
        switch audience {
        case .all: number = all
        case .user(let user): number = owner == user ? owned : nil
        }
        let bytes =
            number == nil
            ? []
            : read(
                Int(length) - Self.recordHeaderByteCount,
                at: position + UInt64(Self.recordHeaderByteCount))
        return (number, bytes, position + UInt64(length))
    }

    // MARK: Memory

    /// Whether what a former supervisor left can be believed.
    private var isSound: Bool {
        let (head, tail) = (word(Offset.head), word(Offset.tail))
        guard word(Offset.count) < Self.countLimit, head < Self.countLimit, tail <= head,
            head - tail <= Self.capacity
        else { return false }
        for index in 0..<Self.userLimit
        where word(Offset.users + 16 * index) > UInt64(UInt32.max)
            || word(Offset.users + 16 * index + 8) > Self.countLimit
        {
            return false
        }
        var position = tail
        while position < head {
            let length = UInt64(length(at: position))
            guard length >= UInt64(Self.recordHeaderByteCount), length <= head - position else {
                return false
            }
            position += length
        }
        return true
    }

    private func length(at position: UInt64) -> UInt32 {
        unsafe read(4, at: position).withUnsafeBytes { unsafe $0.load(as: UInt32.self) }
    }

    private func word(_ offset: Int) -> UInt64 {
        unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(
            ordering: .acquiring)
    }

    private func set(_ offset: Int, _ value: UInt64) {
        unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(
            value, ordering: .releasing)
    }

    private var ring: UnsafeMutableRawPointer { unsafe base + Self.headerByteCount }

    /// Writes in two pieces if the bytes reach past the end.
    private func write(_ bytes: [UInt8], at position: UInt64) {
        let start = Int(position % Self.capacity)
        let first = min(bytes.count, Int(Self.capacity) - start)
        unsafe bytes.withUnsafeBytes { bytes in
            guard let source = bytes.baseAddress else { return }
            unsafe (ring + start).copyMemory(from: source, byteCount: first)
            unsafe ring.copyMemory(from: source + first, byteCount: bytes.count - first)
        }
    }

    private func read(_ count: Int, at position: UInt64) -> [UInt8] {
        let start = Int(position % Self.capacity)
        let first = min(count, Int(Self.capacity) - start)
        var bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: ring + start, count: first))
        unsafe bytes += UnsafeRawBufferPointer(start: ring, count: count - first)
        return bytes
    }
}
