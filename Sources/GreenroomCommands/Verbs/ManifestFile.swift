import Glibc
import GreenroomLinux

/// Reads a manifest's file.
enum ManifestFile {
    /// The longest manifest in bytes. Real manifests are far shorter.
    static let byteLimit = 1 << 20

    /// Why a path cannot be that of a manifest: reading what is there might never end.
    static func objection(to path: String) -> String? {
        let remedy = "give the path of a file ID.app; write what a program prints to a file first"
        return switch FileStatus(path: path)?.kind {
        // If nothing is there, open(2) reports it.
        case .file, nil: nil
        case .folder: "\(path) is a directory; give the paths of the files in it"
        case .characterDevice: "\(path) is a device or a link to one, not a file; \(remedy)"
        case .other: "\(path) is a pipe, a socket or a device, not a file; \(remedy)"
        }
    }

    static func read(_ path: String) throws(SystemError) -> [UInt8] {
        try read(FileDescriptor.open(path, O_RDONLY | O_CLOEXEC), called: path)
    }

    static func read(
        _ file: FileDescriptor, called path: String
    ) throws(SystemError) -> [UInt8] {
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
