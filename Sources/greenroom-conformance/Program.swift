import Glibc
import GreenroomLinux

/// Checks an app of any SDK against the rules of the app channel, as the daemon would speak to it,
/// and prints the Test Anything Protocol. `greenroomctl conformance` reads the command line and
/// executes this program.
@main struct Program {
    static func main() {
        let usage: Usage
        do throws(Usage.Wrong) {
            usage = try Usage(CommandLine.arguments.dropFirst(), checkCount: Check.all.count)
        } catch {
            complain(error.words)
            exit(64)
        }
        if usage.list {
            for (index, check) in Check.all.enumerated() { line("\(index + 1) \(check.name)") }
            exit(0)
        }
        guard
            let bench = Bench(usage.command, timeout: usage.timeout, showsOutput: usage.showsOutput)
        else {
            complain("there is no program \(usage.command[0])")
            exit(1)
        }
        exit(run(usage.only, on: bench) ? 0 : 1)
    }

    /// - Returns: true if no check failed.
    private static func run(_ only: [Int], on bench: Bench) -> Bool {
        let wanted = Check.all.enumerated().filter { only.isEmpty || only.contains($0.offset + 1) }
        line("1..\(wanted.count)")
        var failures = 0
        var skips = 0
        for (number, entry) in wanted.enumerated() {
            let (index, check) = entry
            do throws(Fault) {
                try check.body(bench)
                line("ok \(number + 1) - \(index + 1) \(check.name)")
            } catch  where error.isSkip {
                skips += 1
                line("ok \(number + 1) - \(index + 1) \(check.name) # SKIP \(error.words)")
            } catch {
                failures += 1
                line("not ok \(number + 1) - \(index + 1) \(check.name)")
                line("# \(error.words)")
            }
        }
        if failures > 0 { line("# \(failures) of \(wanted.count) checks failed") }
        if skips > 0 { line("# \(skips) checks were skipped") }
        return failures == 0
    }

    // MARK: Output

    /// Unbuffered, so that each line is seen at once. If the reader has gone, SIGPIPE ends this
    /// process.
    private static func line(_ text: String) { put(text, STDOUT_FILENO) }

    private static func complain(_ text: String) { put("greenroomctl: " + text, STDERR_FILENO) }

    private static func put(_ text: String, _ descriptor: CInt) {
        // Some of the text comes from the app.
        let plain = text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: Unicode.Scalar("?")
            case _: scalar
            }
        }
        let bytes = Array((String(String.UnicodeScalarView(plain)) + "\n").utf8)
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes {
                unsafe write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno != EINTR { exit(1) }
            start += max(0, count)
        }
    }
}
