import Glibc
import Testing

@Suite struct ServiceTests {
    /// The end of `NOTIFY_SOCKET` that a service manager has.
    final class Manager {
        let descriptor: CInt
        let path: String

        init() {
            var template = Array("/tmp/systemd-tests-XXXXXX".utf8CString)
            let directory = String(cString: mkdtemp(&template))
            path = directory + "/notify"
            descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { [path] in $0.copyBytes(from: path.utf8)
            }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            precondition(bound == 0)
        }
        deinit {
            close(descriptor)
            unlink(path)
            rmdir(String(path.dropLast("/notify".count)))
        }

        func next() -> [String] {
            guard Child.becomes(POLLIN, descriptor) else { return [] }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                .split(separator: "\n").map(String.init)
        }
    }

    @Test func `a service tells its manager of readiness, status, reload and stop`() {
        let manager = Manager()
        let child = Child(["notify"], environment: ["NOTIFY_SOCKET=\(manager.path)"])
        #expect(manager.next() == ["READY=1", "STATUS=one READY=0"])
        #expect(manager.next() == ["STATUS=two"])
        let reloading = manager.next()
        #expect(reloading.first == "RELOADING=1")
        #expect(reloading.last?.hasPrefix("MONOTONIC_USEC=") == true)
        #expect(manager.next() == ["STOPPING=1", "STATUS=three"])
        #expect(child.finish().lines == ["told true"])
    }

    @Test func `without a manager nothing is sent`() {
        let (lines, errors, status) = Child(["notify"]).finish()
        #expect(lines == ["told false"])
        #expect(errors == [])
        #expect(status == 0)
    }

    @Test func `the loop feeds the watchdog that the manager asked for`() {
        let manager = Manager()
        let child = Child(
            ["watchdog"],
            environment: ["NOTIFY_SOCKET=\(manager.path)", "WATCHDOG_USEC=200000"])
        #expect(child.line() == "asked true")
        #expect(manager.next() == ["WATCHDOG=1"])
        #expect(manager.next() == ["WATCHDOG=1"])
        child.endInput()
        #expect(child.finish().status == 0)
    }

    @Test func `without the manager's request no watchdog is fed`() {
        let child = Child(["watchdog"])
        #expect(child.line() == "asked false")
        child.endInput()
        #expect(child.finish().status == 0)
    }

    @Test func `inherited sockets are returned once, with their names, and are close-on-exec`() {
        let script = """
            exec 3</dev/null 4</dev/null
            LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=control:other exec "$0" sockets
            """
        let (lines, _, _) = Child(["-c", script, Child.probe], program: "/bin/sh").finish()
        #expect(lines == ["3 control 1", "4 other 1", "again 0", "environment true"])
    }

    @Test func `a log without a journal writes readable lines to standard error`() {
        let (_, errors, _) = Child(["log"]).finish()
        #expect(
            errors == [
                "probe: warning: message (app=org.x instance=4)",
                "probe: debug: two\\nlines (why=\"a b\")",
            ])
    }

    @Test func `a stale JOURNAL_STREAM does not divert the log`() {
        let (_, errors, _) = Child(["log"], environment: ["JOURNAL_STREAM=1:1"]).finish()
        #expect(errors.count == 2)
    }

    @Test(.enabled(if: geteuid() == 0, "a mount namespace needs root"))
    func `a log to the journal has fields`() {
        let script = "mount -t tmpfs none /run && exec \"$0\" structured"
        let child = Child(["--mount", "/bin/sh", "-c", script, Child.probe], program: "unshare")
        let (lines, errors, _) = child.finish()
        for field in [
            "PRIORITY=3", "SYSLOG_IDENTIFIER=probe", "PROBE_EXIT_STATUS=3", "two", "lines",
        ] {
            #expect(lines.contains { $0.hasSuffix(field) }, "\(field) in \(lines)")
        }
        #expect(errors == [])
    }
}
