import Glibc
import GreenroomLinux
import TestSupport

/// A program with a library that begins with two threads and waits at a gate, a FIFO, until the
/// gate is opened. The program itself waits for ever.
final class GatedProgram {
    private let folder: TemporaryDirectory
    private var opening: FileDescriptor?
    let program: String
    private var gate: String { folder.path + "/gate" }

    init() throws {
        folder = try TemporaryDirectory()
        let source = try folder.write(
            """
            #include <fcntl.h>
            #include <pthread.h>
            #include <stdlib.h>
            #include <unistd.h>
            #ifdef LIBRARY
            static void *rest(void *unused) { for (;;) pause(); return unused; }
            __attribute__((constructor)) static void wait(void) {
                pthread_t thread;
                if (!getenv("GATE")) return;
                int gate = open(getenv("GATE"), O_RDONLY);
                pthread_create(&thread, NULL, rest, NULL);
                close(gate);
            }
            #else
            int main(void) { for (;;) pause(); }
            #endif
            """, to: "gated.c")
        program = try folder.copy(try compileWithLibrary(source: source), to: "gated")
        mkfifo(gate, 0o600)
    }

    /// The line of a manifest that tells the program its gate.
    var environment: String { "Environment=GATE=\(gate)" }

    /// Lets one process pass that waits at the gate or comes to it.
    func open() {
        let gate = Glibc.open(gate, O_WRONLY | O_CLOEXEC)
        Glibc.close(gate)
    }

    /// Lets every process pass from now on.
    func stayOpen() throws {
        // FIFOs that are open for writing do not keep their readers waiting.
        opening = try FileDescriptor.open(gate, O_RDWR | O_CLOEXEC)
    }
}
