import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

/// Files made to break their reader: it answers something, quickly, and survives.
@Suite struct HostileFileTests {
    private func inspectMutated(_ program: String, rounds: Int) throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = "\(directory.path)/mutated"
        let original = try readFile(program)
        var generator = SeededGenerator()
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o755)
        defer { close(file) }
        var answers: [String: Int] = [:]
        for round in 0..<rounds {
            var bytes = original
            // The tables that the inspection reads are in the first pages.
            let reach = round % 3 == 0 ? bytes.count : min(bytes.count, round % 3 == 1 ? 1024 : 64)
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                let at = Int.random(in: 0..<reach, using: &generator)
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, .random(in: .min ... .max, using: &generator)]
                    .randomElement(using: &generator)!
            }
            if round % 5 == 0 {
                bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
            }
            ftruncate(file, 0)
            #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
            do {
                let facts = try ExecutableInspection.inspect(path: path)
                answers[facts.eligibility.reason?.code ?? "eligible", default: 0] += 1
            } catch {
                answers[error.code, default: 0] += 1
            }
        }
        #expect(answers["damaged_file", default: 0] > rounds / 100, "\(answers)")
        #expect(answers.count > 3, "\(answers)")
    }

    @Test(arguments: [
        ProbeCompiler("clang"), ProbeCompiler("clang", ["-Wl,--hash-style=sysv", "-no-pie"]),
        ProbeCompiler("musl-gcc"),
    ])
    func `mutated and truncated programs are judged, not trusted`(compiler: ProbeCompiler) throws {
        try inspectMutated(try compileProbe("behave.c", with: compiler), rounds: 1500)
    }

    @Test func `random first lines are judged, not trusted`() throws {
        var generator = SeededGenerator()
        let alphabet = Array("#!/ \t\n\0abin-Senvsh=".utf8)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...300, using: &generator)
            let tail = (0..<count).map { _ in alphabet.randomElement(using: &generator)! }
            guard let line = try? ScriptLine(Array("#!".utf8) + tail) else { continue }
            #expect(!line.interpreter.isEmpty && line.argument != "")
            _ = EnvLine(line.argument)
        }
    }

    @Test func `a FIFO or a device does not hold up the inspection`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let fifo = "\(directory.path)/fifo"
        #expect(mkfifo(fifo, 0o755) == 0)
        #expect(throws: ExecutableError.notAFile(path: fifo, isDirectory: false)) {
            try ExecutableInspection.inspect(path: fifo)
        }
        #expect(throws: ExecutableError.notAFile(path: "/dev/zero", isDirectory: false)) {
            try ExecutableInspection.inspect(path: "/dev/zero")
        }
    }

    @Test func `inspection leaves no descriptor open`() throws {
        let before = KernelObjects.descriptorCount()
        // Other tests in this process open and close descriptors too, but a leak here would show as 200.
        let leaks = (0..<200).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        #expect(KernelObjects.descriptorCount() >= before + 100)
        for leak in leaks { close(leak) }
        let program = try compileProbe("behave.c")
        for _ in 0..<200 { _ = try ExecutableInspection.inspect(path: program) }
        #expect(KernelObjects.descriptorCount() < before + 100)
    }
}
