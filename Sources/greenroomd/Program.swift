internal import Glibc
internal import GreenroomLinux
internal import GreenroomSupervisor
internal import Systemd

/// greenroomd: parses its command line, builds the daemon and runs it.
@main
struct Program {
    static func main() {
        switch Options.parse(
            Array(CommandLine.arguments.dropFirst()), environment: environmentTable,
            isRoot: getuid() == 0, executable: executablePath)
        {
        case .print(let text):
            print(text)
        case .usage(let text):
            complain(text)
            exit(EX_USAGE)
        case .run(let options):
            exit(run(options))
        }
    }

    private static func run(_ options: Options) -> Int32 {
        LoopActor.assumeIsolated {
            do {
                let daemon = try Daemon(options: options, environment: OwnProgram.environment)
                return daemon.run()
            } catch {
                complain("greenroomd: \(error)")
                return EXIT_FAILURE
            }
        }
    }

    private static func complain(_ text: String) {
        let line = text + "\n"
        _ = unsafe write(2, line, line.utf8.count)
    }

    private static var environmentTable: [String: String] {
        var table: [String: String] = [:]
        for entry in OwnProgram.environment {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            table[String(entry[..<equals])] = String(entry[entry.index(after: equals)...])
        }
        return table
    }

    private static var executablePath: String {
        guard let path = unsafe realpath("/proc/self/exe", nil) else {
            return CommandLine.arguments.first ?? "greenroomd"
        }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
