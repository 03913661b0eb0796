import Glibc
import GreenroomControl

extension ByteString {
    init(cString: UnsafePointer<CChar>) {
        if let text = unsafe String(validatingCString: cString) {
            self = .text(text)
        } else {
            self = unsafe .bytes(
                UnsafeBufferPointer(start: cString, count: strlen(cString)).map(
                    UInt8.init(bitPattern:)))
        }
    }

    /// A copy that the caller must free (malloc(3)).
    var copiedCString: UnsafeMutablePointer<CChar>? {
        let bytes = bytes
        guard let copy = unsafe malloc(bytes.count + 1) else { return nil }
        let text = unsafe copy.bindMemory(to: CChar.self, capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { unsafe text[index] = CChar(bitPattern: byte) }
        unsafe text[bytes.count] = 0
        return unsafe text
    }
}
