import Glibc
import GreenroomLinux

/// The hosts that a program has reached or asked for, also by connections that it has closed since.
/// The library that withholds windows writes them to this file (`Sources/CWithhold/contacts.c`).
struct ContactNotes {
    static let name = "greenroom-contacts"

    /// More than the library writes; but the file belongs to the program's user.
    private static let byteLimit = 64 << 10

    private let file: FileDescriptor

    /// - Parameter folder: the program's `XDG_RUNTIME_DIR`.
    init(in folder: String) throws(SystemError) {
        file = try FileDescriptor.open(
            folder + "/" + Self.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
    }

    func lines() -> Set<String> {
        guard let bytes = try? file.readBytes(atMost: Self.byteLimit) else {
            return ["more than can be read"]
        }
        return Set(String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init))
    }
}
