import Glibc
import GreenroomLinux
import Testing

/// The child has the descriptors that were asked for, whatever numbers the parent has.
@Suite struct SpawnDescriptorTests {
    /// Prints the open descriptors of a shell, and perhaps the one that the list itself needs.
    private static let list = "for f in /proc/$$/fd/*; do echo ${f##*/}; done"

    @Test func `only the requested descriptors are open in the child`() throws {
        let stray = dup(1)  // without close-on-exec, as a careless library would
        defer { close(stray) }
        let run = try ShellRun.of(Self.list)
        #expect(Set(run.lines).isSubset(of: ["0", "1", "2", "3"]))
        #expect(!run.lines.contains("\(stray)") || stray <= 3)
    }

    /// Descriptors that the parent moved to high numbers are not open in a child.
    @Test func `descriptors that were moved aside do not reach the child`() throws {
        let pipe = try FileDescriptor.pipe()
        let inode = try pipe.reading.identity().inode
        pipe.reading.moveAside(to: 256)
        #expect(pipe.reading.rawValue >= 256)
        #expect(try pipe.reading.identity().inode == inode)
        let aside = pipe.reading.rawValue
        pipe.reading.moveAside(to: 256)
        #expect(pipe.reading.rawValue == aside, "once is enough")
        let run = try ShellRun.of(Self.list)
        #expect(Set(run.lines).isSubset(of: ["0", "1", "2", "3"]))
        #expect(fcntl(aside, F_GETFD) == FD_CLOEXEC, "the child closed its own copy, if any")
    }

    @Test func `descriptors that were moved aside can be given to a child`() throws {
        let pipe = try FileDescriptor.pipe()
        pipe.writing.moveAside(to: 256)
        let name = "pipe:[\(try pipe.writing.identity().inode)]"
        let run = try ShellRun.of("readlink /proc/$$/fd/5") {
            $0.descriptors.append(.init(pipe.writing.rawValue, at: 5))
        }
        #expect(run.lines == [name])
    }

    @Test func `targets that are each other's sources do not overwrite one another`() throws {
        var files: [FileDescriptor] = []
        for _ in 0..<3 { files.append(try FileDescriptor.pipe().writing) }
        let names = try files.map { try $0.identity().inode }
        let numbers = files.map(\.rawValue)
        let run = try ShellRun.of(
            numbers.map { "readlink /proc/$$/fd/\($0)" }.joined(separator: ";")
        ) { request in
            for i in 0..<3 {
                request.descriptors.append(.init(numbers[i], at: numbers[(i + 1) % 3]))
            }
        }
        withExtendedLifetime(files) {}
        #expect(
            run.lines == [
                "pipe:[\(names[2])]", "pipe:[\(names[0])]", "pipe:[\(names[1])]",
            ])
    }

    @Test func `targets that are free numbers in the parent get their descriptors`() async {
        // A separate process, because the free numbers must not change in the meantime.
        await #expect(processExitsWith: .exitCode(0)) {
            for offset in 0..<6 {
                let first = try FileDescriptor.pipe().writing
                let second = try FileDescriptor.pipe().writing
                let expected = try [first, second].map { "pipe:[\(try $0.identity().inode)]" }
                var targets: [CInt] = []
                let run = try ShellRun.of("readlink /proc/$$/fd/$0 /proc/$$/fd/$1") { request in
                    // The child moves its sources to the lowest free numbers. The test wants these
                    // as targets.
                    let free = (0..<8).map { _ in dup(0) }
                    for number in free { close(number) }
                    targets = [free[offset], free[offset + 1]]
                    for target in targets { request.arguments.append(String(target)) }
                    request.descriptors.append(.init(first.rawValue, at: targets[0]))
                    request.descriptors.append(.init(second.rawValue, at: targets[1]))
                }
                guard run.lines == expected else { exit(1) }
            }
            exit(0)
        }
    }

    @Test(arguments: [32, 64, 1024] as [UInt64])
    func `the highest number under the limit can be a target`(_ limit: UInt64) throws {
        let file = try FileDescriptor.open("/dev/null", O_RDONLY)
        let top = CInt(limit) - 1
        let run = try ShellRun.of("readlink /proc/$$/fd/\(top); ulimit -Hn") {
            $0.resourceLimits = [ResourceLimit(.openFiles, soft: limit, hard: limit)]
            $0.descriptors.append(.init(file.rawValue, at: top))
        }
        #expect(run.lines == ["/dev/null", "\(limit)"])
    }

    @Test func `a directory's descriptor survives targets of the same number`() throws {
        let directory = try FileDescriptor.open("/usr", O_RDONLY | O_DIRECTORY)
        let file = try FileDescriptor.open("/dev/null", O_RDONLY)
        let run = try ShellRun.of("pwd; readlink /proc/$$/fd/\(directory.rawValue)") {
            $0.workingDirectory = "/tmp"
            $0.workingDirectoryDescriptor = directory
            $0.descriptors.append(.init(file.rawValue, at: directory.rawValue))
        }
        #expect(run.lines == ["/usr", "/dev/null"])
    }

    @Test func `a spawn without clone3 gives the same descriptors`() throws {
        let run = try ShellRun.of("echo $A; pwd; exit 9", environment: ["A=b"]) {
            $0.avoidsClone3 = true
            $0.workingDirectory = "/"
        }
        #expect(run.lines == ["b", "/"])
        #expect(run.status == .exited(9))
    }
}
