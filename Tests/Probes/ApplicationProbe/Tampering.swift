import Glibc
import GreenroomLinux

/// Tries to change the credentials that were handed over, and prints the errno of each attempt (0
/// for success): one line for the sealed file and one for the directory.
extension Program {
    static func tamper() {
        if let credentials { note("sealed " + attempts(on: credentials.rawValue)) }
        if let directory = variable("CREDENTIALS_DIRECTORY") {
            note("directory " + attempts(in: directory))
        }
    }

    private static func attempts(on file: Int32) -> String {
        var byte: UInt8 = 0x78
        let map = mmap(nil, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        let results = [
            ("mapped", said(map == MAP_FAILED ? -1 : 0)),
            ("written", said(pwrite(file, &byte, 1, 0))), ("cut", said(ftruncate(file, 0))),
            ("grown", said(ftruncate(file, 1 << 20))),
            ("reopened", said(reopened(file).map { pwrite($0, &byte, 1, 0) } ?? -1)),
        ]
        return words(results)
    }

    /// Opens the file again for writing, after an attempt to give everybody access to it.
    private static func reopened(_ file: Int32) -> Int32? {
        fchmod(file, 0o777)
        let other = open("/proc/self/fd/\(file)", O_RDWR)
        return other < 0 ? nil : other
    }

    private static func attempts(in directory: String) -> String {
        let file = directory + "/token"
        return words([
            ("read", said(open(file, O_RDONLY))), ("written", said(open(file, O_WRONLY))),
            ("opened up", said(chmod(file, 0o666))), ("laid open", said(chmod(directory, 0o777))),
            ("added", said(open(directory + "/more", O_WRONLY | O_CREAT, 0o600))),
            ("renamed", said(rename(file, directory + "/other"))), ("removed", said(unlink(file))),
        ])
    }

    private static func said(_ result: some BinaryInteger) -> Int32 { result < 0 ? errno : 0 }

    private static func words(_ results: [(String, Int32)]) -> String {
        results.map { "\($0) \($1)" }.joined(separator: ", ")
    }
}
