internal import CSystemd
import Glibc

/// A descriptor that the service manager passed on (sd_listen_fds_with_names(3)).
public struct InheritedSocket: Hashable, Sendable {
    /// The descriptor, which is close-on-exec. The caller closes it.
    public var descriptor: CInt
    /// `FileDescriptorName=`; "unknown" if the manager passed none.
    public var name: String

    /// Takes over the descriptors that the manager has passed, and removes `LISTEN_*` from the
    /// environment so that no child takes them for its own. A second call finds none.
    public static func takeAll() throws(SystemdError) -> [InheritedSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = try check(
            "sd_listen_fds_with_names", unsafe sd_listen_fds_with_names(1, &names))
        defer { unsafe free(names) }
        var sockets: [InheritedSocket] = []
        for index in 0..<Int(count) {
            var name = "unknown"
            if let given = unsafe names?[index] {
                name = unsafe String(cString: given)
                unsafe free(given)
            }
            sockets.append(
                InheritedSocket(
                    descriptor: CInt(SD_LISTEN_FDS_START) + CInt(index), name: name))
        }
        return sockets
    }
}
