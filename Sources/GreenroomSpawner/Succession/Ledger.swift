internal import Glibc
internal import GreenroomLinux

/// The table of instances as a file in the runtime directory, for the next spawner if this one is
/// killed. The file's contents are checked against the kernel before they are believed.
///
/// The file has slots of 512 bytes. The first slot contains the boot identifier and the cgroup
/// above the instances; each other slot contains an instance or nothing. One pwrite(2) writes a
/// slot, and a checksum shows whether the slot is complete.
final class Ledger {
    struct Entry: Hashable {
        var number: UInt64
        var app: String
        var pid: pid_t
        /// In clock ticks since boot (proc(5)); 0 if the cgroup proves which instance the process
        /// belongs to.
        var startTicks: UInt64
    }

    struct Contents {
        /// The directory of the instances' cgroups; nil if there were none.
        var subtree: (path: String, isOurs: Bool)?
        var entries: [Entry] = []
    }

    private static let slotByteCount = 512
    private static let magic: UInt64 = 0x3130_5245_4744_454c  // "LEDGER01"
    /// One slot for the header, and one for each instance.
    private static let slotCount = SpawnerLimits.instanceCount + 1

    private let path: String
    /// A second file, with the path of the instances' cgroups. That path and the names of the
    /// cgroups are enough to find the instances again.
    private var copyPath: String { path + ".cgroup" }
    private let file: FileDescriptor
    private var slots: [UInt64: Int] = [:]
    private var free: [Int] = []
    private var unused = 1

    /// Begins a new file beside the old one. ``commit()`` then replaces the old file: if the spawner
    /// is killed before, the next spawner finds the old file. Only the spawner that listens on the
    /// socket may do this.
    init(path: String) throws(SystemError) {
        self.path = path
        _ = unsafe unlink(path + ".new")
        file = try FileDescriptor.open(path + ".new", O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    }

    /// What a former spawner left during this boot; nil if there is nothing.
    static func left(at path: String) -> Contents? {
        contents(at: path) ?? contents(at: path + ".cgroup")
    }

    private static func contents(at path: String) -> Contents? {
        guard let file = try? FileDescriptor.open(path, O_RDONLY),
            let bytes = try? file.readBytes(atMost: slotByteCount * slotCount)
        else { return nil }
        return contents(bytes)
    }

    /// Replaces the old file. Call this when everything that was found has been entered.
    func commit() { _ = unsafe rename(path + ".new", path) }

    func begin(_ subtree: Subtree) {
        var writer = WireWriter()
        writer.put(Self.magic)
        writer.put(Self.boot)
        switch subtree {
        case .cgroup(_, let path, let isOurs):
            writer.put(path)
            writer.put(isOurs)
        case .degraded:
            writer.put("")
            writer.put(false)
        }
        write(writer.bytes, at: 0)
        let copy = try? FileDescriptor.open(copyPath + ".new", O_WRONLY | O_CREAT, mode: 0o600)
        guard let copy else { return }
        Self.write(writer.bytes, at: 0, of: copy)
        _ = unsafe rename(copyPath + ".new", copyPath)
    }

    /// Adds an entry. If there is no room, nothing is written, and the next spawner ends that
    /// instance instead of adopting it.
    func add(_ entry: Entry) {
        var writer = WireWriter()
        writer.put(entry.number)
        writer.put(entry.pid)
        writer.put(entry.startTicks)
        writer.put(entry.app)
        let slot = free.popLast() ?? unused
        guard slot < Self.slotCount else { return }
        unused = max(unused, slot + 1)
        slots[entry.number] = slot
        write(writer.bytes, at: slot)
    }

    func remove(_ number: UInt64) {
        guard let slot = slots.removeValue(forKey: number) else { return }
        free.append(slot)
        write([], at: slot)
    }

    /// Deletes the file: after an orderly end there is nothing to adopt.
    func delete() {
        _ = unsafe unlink(path)
        _ = unsafe unlink(copyPath)
    }

    private func write(_ body: [UInt8], at slot: Int) {
        Self.write(body, at: slot, of: file)
    }

    private static func write(_ body: [UInt8], at slot: Int, of file: FileDescriptor) {
        var bytes = body
        guard bytes.count <= slotByteCount - 8 else { return }
        bytes += Array(repeating: 0, count: slotByteCount - 8 - bytes.count)
        var sum = WireWriter()
        sum.put(body.isEmpty ? 0 : Self.sum(bytes[...]))
        bytes += sum.bytes
        _ = unsafe bytes.withUnsafeBytes {
            unsafe pwrite(
                file.rawValue, $0.baseAddress, $0.count, off_t(slot * slotByteCount))
        }
    }

    // MARK: Reading

    private static func contents(_ bytes: [UInt8]) -> Contents? {
        var slots = stride(from: 0, to: bytes.count - slotByteCount + 1, by: slotByteCount)
            .map { bytes[$0..<$0 + slotByteCount] }[...]
        guard let header = slots.popFirst(), isWhole(header) else { return nil }
        var contents = Contents()
        var reader = WireReader(header)
        do throws(SpawnerWireError) {
            guard try reader.take(UInt64.self) == magic, try reader.takeString() == boot else {
                return nil
            }
            let path = try reader.takeString()
            let isOurs = try reader.takeBool()
            contents.subtree = path.isEmpty ? nil : (path, isOurs)
        } catch {
            return nil
        }
        contents.entries = slots.filter(isWhole).compactMap(entry)
        return contents
    }

    private static func entry(_ slot: ArraySlice<UInt8>) -> Entry? {
        var reader = WireReader(slot)
        do throws(SpawnerWireError) {
            let number: UInt64 = try reader.take()
            let pid: pid_t = try reader.take()
            let start: UInt64 = try reader.take()
            return Entry(
                number: number, app: try reader.takeString(), pid: pid, startTicks: start)
        } catch {
            return nil
        }
    }

    private static func isWhole(_ slot: ArraySlice<UInt8>) -> Bool {
        var reader = WireReader(slot.suffix(8))
        guard let sum = try? reader.take(UInt64.self), sum != 0 else { return false }
        return sum == Self.sum(slot.dropLast(8))
    }

    /// FNV-1a, but never 0. It detects a torn or foreign slot, but not an attack.
    private static func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return sum | 1
    }

    /// The identifier of this boot: process numbers and cgroups from another boot mean nothing.
    private static let boot: String =
        (try? SmallFile.text(of: "/proc/sys/kernel/random/boot_id")) ?? ""
}
