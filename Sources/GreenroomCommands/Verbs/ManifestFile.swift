import Glibc
import GreenroomLinux

/// Reads a manifest's file.
enum ManifestFile {
    /// The longest manifest in bytes. Real manifests are far shorter.
    static let byteLimit = 1 << 20

    static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let file = try FileDescriptor.open(path, O_RDONLY | O_CLOEXEC)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let result = unsafe buffer.withUnsafeMutableBytes { buffer in
                Result { () throws(SystemError) in unsafe try file.read(into: buffer) }
            }
            // An error of read(2) does not contain the file's name.
            let read = result.mapError { SystemError(code: $0.code, call: $0.call, subject: path) }
            guard let count = try read.get(), count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= byteLimit else {
                throw SystemError(code: EFBIG, call: "read", subject: path)
            }
        }
    }
}
