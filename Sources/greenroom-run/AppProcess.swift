import CGreenroomLinux
import Glibc
import GreenroomControl

/// The app's process. Where the kernel tells everybody how a process has ended (since Linux 6.15),
/// this program ends with it, and not only after the daemon has said so.
struct AppProcess {
    /// A process about which nothing is known but what the daemon says.
    static let unknown = AppProcess(descriptor: -1)

    /// A pidfd, or -1.
    let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    init(_ launched: Control.Launched) {
        descriptor = Self.open(launched) ?? -1
    }

    private static func open(_ launched: Control.Launched) -> CInt? {
        guard let number = launched.processId, let inode = launched.processInode else { return nil }
        let opened = gr_pidfd_open(number)
        guard opened >= 0 else { return nil }
        var status = stat()
        // If the process has ended, its number may be another one's. The descriptor then stays
        // open, as every other one does until this program ends.
        guard unsafe fstat(opened, &status) == 0, status.st_ino == inode else { return nil }
        return opened
    }

    /// How it has ended; nil if the kernel does not tell.
    var ending: Ending? {
        var status: CInt = 0
        guard unsafe gr_pidfd_exit(descriptor, &status) == 1 else { return nil }
        let signal = status & 0x7f
        return signal == 0 ? .status(status >> 8 & 0xff) : .signal(signal)
    }
}
