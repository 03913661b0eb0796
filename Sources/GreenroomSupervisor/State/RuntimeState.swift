internal import GreenroomLifecycle
internal import Synchronization

/// The records that outlive the supervisor, in a mapping that the spawner keeps.
///
/// A slot has two copies of its record and a control word that names the whole copy. A record is
/// written to the other copy first and then named by one atomic store. So whoever maps the memory
/// after a `kill -9` finds the old record or the new one, never half of either. Writing a record
/// takes no system call, except for the first record in a block.
///
///     header | control words of all slots | copy 0 and copy 1 of slot 0 | of slot 1 | …
///     header: magic | the next instance | the secret of digests in records (two words)
///     control word: 0 free; otherwise a count whose lowest bit names the current copy
///
/// The control words lie together, so that finding the slots in use touches 16 pages.
@safe final class RuntimeState {
    /// Slots for instances: `Policy.instanceLimit` live ones, and as many ended ones as are
    /// remembered.
    static let instanceSlotCount = 4096
    /// Slots for apps whose failures, crashes or pool are worth remembering.
    static let appSlotCount = 4096
    private static let headerByteCount = 4096
    private static let slotCount = instanceSlotCount + appSlotCount
    /// Where the part begins that is reserved block by block.
    static let copiesOffset = headerByteCount + slotCount * MemoryLayout<UInt64>.stride
    private static let magic: UInt64 = 0x3230_4554_4154_5347  // "GSTATE02"

    /// The size of the mapping in bytes; only touched pages cost memory.
    static let byteCount = copiesOffset + slotCount * 2 * RecordCoding.capacity

    private let base: UnsafeMutableRawPointer
    /// The digest with which the records were made; it is as old as they are.
    private(set) var digest: KeyedDigest
    private var instanceSlots: [InstanceIdentifier: Int] = [:]
    private var appSlots: [AppIdentifier: Int] = [:]
    private var freeInstanceSlots: [Int] = []
    private var freeAppSlots: [Int] = []
    /// Makes sure that a part of the mapping can be written; false if it cannot.
    private let reserve: (Range<Int>) -> Bool
    /// The blocks of copies that were reserved, by number.
    private var reservedBlocks: Set<Int> = []
    /// A launch that needs a new slot would otherwise often wait for a page (20 to 40 µs).
    private static let blockByteCount = 32 << 10

    /// What a former supervisor left.
    struct Contents {
        var instances: [InstanceRecord] = []
        var apps: [AppRecord] = []
        var nextInstance = InstanceIdentifier(1)
        /// Slots in use whose record did not decode; they are freed.
        var damagedCount = 0
    }

    /// Takes over the mapping, which is `byteCount` long and stays mapped for the life of the
    /// process. Fresh (zeroed) memory holds nothing. What lies before `copiesOffset` is reserved.
    init(
        mapping: UnsafeMutableRawPointer, contents: inout Contents,
        reserve: @escaping (Range<Int>) -> Bool = { _ in true }
    ) {
        unsafe base = unsafe mapping
        self.reserve = reserve
        let known = unsafe mapping.load(as: UInt64.self) == Self.magic
        if !known {
            unsafe mapping.initializeMemory(
                as: UInt8.self, repeating: 0, count: Self.headerByteCount)
            unsafe mapping.storeBytes(of: Self.magic, as: UInt64.self)
        }
        var secret = unsafe (
            mapping.load(fromByteOffset: 16, as: UInt64.self),
            mapping.load(fromByteOffset: 24, as: UInt64.self)
        )
        // The memory is fresh, or of a version without a secret. Then no digest in it matches
        // anything.
        if secret == (0, 0) { secret = (.random(in: 1 ... .max), .random(in: 1 ... .max)) }
        digest = KeyedDigest(secret: secret)
        let counted = unsafe mapping.load(fromByteOffset: 8, as: UInt64.self)
        // A greater number is damage, and counting on from it would reach numbers with other
        // meanings.
        if counted >= SpawnNumber.firstWatch {
            contents.damagedCount += 1
            unsafe mapping.storeBytes(of: 0, toByteOffset: 8, as: UInt64.self)
        } else {
            contents.nextInstance = InstanceIdentifier(max(1, counted))
        }
        for slot in (0..<Self.instanceSlotCount).reversed() {
            guard known, let bytes = unsafe currentCopy(slot) else {
                freeInstanceSlots.append(slot)
                continue
            }
            var reader = unsafe RecordReader(bytes)
            guard let record = InstanceRecord(from: &reader),
                1..<SpawnNumber.firstWatch ~= record.instance.rawValue,
                instanceSlots[record.instance] == nil
            else {
                contents.damagedCount += 1
                clear(slot)
                freeInstanceSlots.append(slot)
                continue
            }
            instanceSlots[record.instance] = slot
            contents.instances.append(record)
            contents.nextInstance = max(
                contents.nextInstance, InstanceIdentifier(record.instance.rawValue + 1))
        }
        for slot in (Self.instanceSlotCount..<Self.instanceSlotCount + Self.appSlotCount).reversed()
        {
            guard known, let bytes = unsafe currentCopy(slot) else {
                freeAppSlots.append(slot)
                continue
            }
            var reader = unsafe RecordReader(bytes)
            guard let record = AppRecord(from: &reader), appSlots[record.app] == nil else {
                contents.damagedCount += 1
                clear(slot)
                freeAppSlots.append(slot)
                continue
            }
            appSlots[record.app] = slot
            contents.apps.append(record)
        }
        contents.instances.sort { $0.instance < $1.instance }
        use(digest)
    }

    /// Uses the digest with which the records were made.
    func use(_ digest: KeyedDigest) {
        self.digest = digest
        unsafe base.storeBytes(of: digest.secret.0, toByteOffset: 16, as: UInt64.self)
        unsafe base.storeBytes(of: digest.secret.1, toByteOffset: 24, as: UInt64.self)
    }

    /// Returns false if every slot is taken (the core's limits are lower), if the record is too
    /// large, or if there is no memory for it.
    @discardableResult
    func save(_ record: InstanceRecord) -> Bool {
        // An identifier must never be used twice, not even if its record is erased before a crash.
        let nextIdentifier = unsafe base.load(fromByteOffset: 8, as: UInt64.self)
        if record.instance.rawValue >= nextIdentifier {
            unsafe base.storeBytes(
                of: record.instance.rawValue + 1, toByteOffset: 8, as: UInt64.self)
        }
        guard let slot = instanceSlots[record.instance] ?? freeInstanceSlots.popLast() else {
            return false
        }
        instanceSlots[record.instance] = slot
        return write(slot) { record.encode(into: &$0) }
    }

    func erase(_ instance: InstanceIdentifier) {
        guard let slot = instanceSlots.removeValue(forKey: instance) else { return }
        clear(slot)
        freeInstanceSlots.append(slot)
    }

    @discardableResult
    func save(_ record: AppRecord) -> Bool {
        // Nothing needs to be remembered about most apps, and a slot is most of what an app costs.
        if record == AppRecord(app: record.app) {
            erase(record.app)
            return true
        }
        guard let slot = appSlots[record.app] ?? freeAppSlots.popLast() else { return false }
        appSlots[record.app] = slot
        return write(slot) { record.encode(into: &$0) }
    }

    func erase(_ app: AppIdentifier) {
        guard let slot = appSlots.removeValue(forKey: app) else { return }
        clear(slot)
        freeAppSlots.append(slot)
    }

    // MARK: Slots

    private func control(_ slot: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe (base + Self.headerByteCount).assumingMemoryBound(to: Atomic<UInt64>.self) + slot
    }

    private func copy(_ slot: Int, _ index: UInt64) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            start: base + Self.copiesOffset + (2 * slot + Int(index)) * RecordCoding.capacity,
            count: RecordCoding.capacity)
    }

    private func currentCopy(_ slot: Int) -> UnsafeRawBufferPointer? {
        let count = unsafe control(slot).pointee.load(ordering: .acquiring)
        return count == 0 ? nil : unsafe UnsafeRawBufferPointer(copy(slot, count & 1))
    }

    private func write(_ slot: Int, _ encode: (inout RecordWriter) -> Void) -> Bool {
        // 0 means free, so the count starts at 2 and skips 0 when it wraps.
        let count = unsafe control(slot).pointee.load(ordering: .relaxed)
        let next = count == 0 ? 2 : count == .max ? 2 : count + 1
        guard isReserved(slot) else { return false }
        var writer = unsafe RecordWriter(copy(slot, next & 1))
        encode(&writer)
        guard !writer.overflowed else { return false }
        unsafe control(slot).pointee.store(next, ordering: .releasing)
        return true
    }

    /// Reserves the blocks of both copies of a slot.
    private func isReserved(_ slot: Int) -> Bool {
        let start = Self.copiesOffset + 2 * slot * RecordCoding.capacity
        let last = start + 2 * RecordCoding.capacity - 1
        let blocks = start / Self.blockByteCount...last / Self.blockByteCount
        if blocks.allSatisfy({ reservedBlocks.contains($0) }) { return true }
        let end = min((blocks.upperBound + 1) * Self.blockByteCount, Self.byteCount)
        guard reserve(blocks.lowerBound * Self.blockByteCount..<end) else { return false }
        reservedBlocks.formUnion(blocks)
        return true
    }

    private func clear(_ slot: Int) {
        unsafe control(slot).pointee.store(0, ordering: .releasing)
    }
}
