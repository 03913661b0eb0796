import Glibc
import TestSupport

/// A tracer by ptrace(2), all of whose calls must come from one thread.
final class Debugger {
    private let pid: Int32
    private let thread: ChildProcess

    /// Attaches and lets the process go on.
    init(pid: Int32) throws {
        self.pid = pid
        let tracer = try compileProbe("trace.c")
        var request = ChildRequest(tracer, arguments: [tracer, "\(pid)"], environment: [])
        let ready = try Pipe()
        request.descriptors[1] = ready.writeEnd
        thread = try ChildProcess(request)
        ready.closeWriteEnd()
        var byte: UInt8 = 0
        guard read(ready.readEnd, &byte, 1) == 1 else { throw TestError("not attached") }
    }

    /// The kernel detaches when the tracer ends.
    func detach() {
        thread.kill(SIGKILL)
        _ = try? thread.waitForExit()
    }
}
