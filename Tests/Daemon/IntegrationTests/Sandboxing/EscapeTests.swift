import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

private let files: [Escape] = [
    Escape("ProtectSystem=yes", act: "write=/usr/greenroom-test", is: "EROFS", as: [0]),
    Escape("ProtectSystem=full", act: "write=/etc/greenroom-test", is: "EROFS", as: [0]),
    Escape("ProtectSystem=strict", act: "write=/var/tmp/greenroom-test", is: "EROFS"),
    Escape("ProtectHome=yes", act: "read=/root/.profile", is: "ENOENT", as: [0]),
    Escape("ProtectHome=tmpfs", act: "exists=/root/.profile", is: "ENOENT", as: [0]),
    Escape("ProtectHome=read-only", act: "write=/root/.greenroom-test", is: "EROFS", as: [0]),
    Escape("ReadOnlyPaths=SCRATCH", act: "write=SCRATCH/file", is: "EROFS"),
    Escape("InaccessiblePaths=/etc/passwd", act: "read=/etc/passwd", is: "EACCES"),
    Escape(
        "InaccessiblePaths=/etc/default", act: "exists=/etc/default/useradd", is: "EACCES",
        as: [65_534]),
    Escape("TemporaryFileSystem=/etc", act: "exists=/etc/passwd", is: "ENOENT"),
    Escape(
        "BindReadOnlyPaths=SCRATCH:/mnt", act: "write=/mnt/file", is: "EROFS",
        as: [0]),
    Escape("PrivateDevices=yes", act: "exists=/dev/kmsg", is: "ENOENT"),
    Escape(
        "ProtectKernelTunables=yes", act: "write=/proc/sys/kernel/core_pattern", is: "EROFS",
        as: [0]),
    Escape("ProtectKernelLogs=yes", act: "read=/dev/kmsg", is: "EACCES", as: [0]),
    Escape("ProtectKernelLogs=yes", act: "read=/proc/kmsg", is: "EACCES", as: [0]),
    Escape("ProtectControlGroups=yes", act: "mkdir=CGROUP/greenroom-test", is: "EROFS", as: [0]),
]

private let calls: [Escape] = [
    Escape("NoNewPrivileges=yes", act: "privileges", is: "EPERM"),
    Escape("PrivateNetwork=yes", act: "network=NETWORK", is: "ENETDOWN"),
    Escape("ProtectHostname=yes", act: "hostname", is: "EPERM", as: [0]),
    Escape("ProtectKernelModules=yes", act: "module", is: "EPERM", as: [0]),
    Escape("ProtectClock=yes", act: "settime", is: "EPERM", as: [0]),
    Escape("CapabilityBoundingSet=CAP_KILL", act: "capability=21", is: "EPERM"),
    Escape("CapabilityBoundingSet=~CAP_SYS_ADMIN", act: "capability=21", is: "EPERM"),
    Escape("CapabilityBoundingSet=", act: "capability=5", is: "EPERM"),
    Escape(
        "SystemCallFilter=~@mount", "SystemCallErrorNumber=EPERM", act: "mount", is: "EPERM",
        as: [0]),
    Escape("SystemCallFilter=~chroot:ENOTTY", act: "chroot", is: "ENOTTY", as: [0]),
    Escape(
        "SystemCallFilter=@system-service", "SystemCallErrorNumber=EXDEV", act: "chroot",
        is: "EXDEV", as: [0]),
    Escape("RestrictAddressFamilies=AF_UNIX", act: "socket=2", is: "EAFNOSUPPORT"),
    Escape("RestrictAddressFamilies=AF_UNIX AF_NETLINK", act: "socket=2", is: "EAFNOSUPPORT"),
    Escape("RestrictAddressFamilies=~AF_INET", act: "socket=2", is: "EAFNOSUPPORT"),
    Escape("RestrictAddressFamilies=none", act: "socket=1", is: "EAFNOSUPPORT"),
    Escape("RestrictAddressFamilies=AF_UNIX", act: "uring", is: "EPERM"),
    Escape("RestrictNamespaces=yes", act: "unshare=268435456", is: "EPERM"),
    Escape("RestrictNamespaces=~user", act: "unshare=268435456", is: "EPERM"),
    Escape("RestrictNamespaces=yes", act: "setns", is: "EPERM", as: [0]),
    Escape("RestrictNamespaces=yes", act: "clone3", is: "ENOSYS"),
    Escape("RestrictRealtime=yes", act: "realtime", is: "EPERM", as: [0]),
    Escape("RestrictSUIDSGID=yes", act: "setuid=SCRATCH/file", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "open-setuid=SCRATCH/file", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "tmpfile=SCRATCH", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "openat2-setuid=SCRATCH/file", is: "ENOSYS"),
    Escape("RestrictSUIDSGID=yes", act: "creat-setuid=SCRATCH/file", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "mknod-setuid=SCRATCH/file", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "mkdir-setgid=SCRATCH/folder", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "fchmod-setuid=SCRATCH/file", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "fchmodat2-setuid=SCRATCH/file", is: "EPERM"),
    Escape("RestrictSUIDSGID=yes", act: "uring", is: "EPERM"),
    Escape("RestrictRealtime=yes", act: "realtime-attributes", is: "EPERM", as: [0]),
    Escape("MemoryDenyWriteExecute=yes", act: "w-then-x-key", is: "EPERM"),
    Escape("ProtectClock=yes", act: "timex", is: "EPERM", as: [0]),
    Escape("ProtectKernelLogs=yes", act: "syslog", is: "EPERM", as: [0]),
    Escape("LockPersonality=yes", act: "personality", is: "EPERM"),
    Escape("MemoryDenyWriteExecute=yes", act: "wx", is: "EPERM"),
    Escape("MemoryDenyWriteExecute=yes", act: "w-then-x", is: "EPERM"),
    Escape("MemoryDenyWriteExecute=yes", act: "personality=0x400000", is: "EPERM"),
    Escape("MemoryDenyWriteExecute=yes", act: "personality=0x80400000", is: "EPERM"),
    Escape("MemoryDenyWriteExecute=yes", act: "personality=0xFFBFFFFF", is: "done"),
    Escape("MemoryDenyWriteExecute=yes", act: "personality=0xFFFFFFFF", is: "done"),
]

private let clients: [Escape] = [
    Escape("ProtectSystem=yes", act: "control=RUNTIME/control", is: "EPERM"),
    Escape("NoNewPrivileges=yes", act: "control=RUNTIME/control", is: "EPERM"),
    // The daemon can no longer tell whose child this process was.
    Escape(
        "ProtectSystem=yes", act: "control-by-child=RUNTIME/control", is: "EPERM", free: "EPERM",
        as: [0]),
    Escape(
        "ProtectSystem=yes", "ControlSocket=yes", act: "control=RUNTIME/control", is: "done"),
]

@Suite struct EscapeTests {
    @Test(arguments: files + calls + clients)
    func `an act that a key forbids fails, cold and prewarmed, and succeeds without the key`(
        escape: Escape
    ) throws {
        for user in escape.users {
            if user != getuid() { try requireOrSkip(getuid() == 0, "only root can try both users") }
            let prison = try Prison(escape.keys, user: user)
            let network = try linkTarget("/proc/self/ns/net")
            let acts = [
                escape.act.replacing("NETWORK", with: network)
                    .replacing("RUNTIME", with: prison.daemon.runtimeDirectory)
                    .replacing("CGROUP", with: Cgroups.mount ?? "/sys/fs/cgroup")
            ]
            // An unconfined app's child may or may not have ended when the daemon looked.
            let isByChild = escape.act.hasPrefix("control-by-child")
            for app in isByChild ? [Prison.app] : [Prison.free, Prison.app] {
                let expected = [app == Prison.app ? escape.confined : escape.free]
                try prison.daemon.awaitPaused(app)
                #expect(try prison.attempt(acts, in: app, expecting: .prewarmed) == expected)
                // With another environment, no paused instance serves the launch.
                let cold = try prison.attempt(acts, in: app, expecting: .cold) {
                    $0.environment = [.init(name: "LANG", value: "other")]
                }
                #expect(cold == expected)
            }
        }
    }

    private func linkTarget(_ path: String) throws -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { throw TestError("readlink \(path)") }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
