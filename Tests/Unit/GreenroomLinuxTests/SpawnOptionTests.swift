import CGreenroomLinux
import Glibc
import GreenroomLinux
import Testing

/// Each option as the child itself sees it.
@Suite struct SpawnOptionTests {
    @Test func `arguments and environment arrive unchanged and alone`() throws {
        let run = try ShellRun.of(
            "printf '%s|' \"$0\" \"$@\"; tr '\\0' '|' </proc/$$/environ",
            environment: ["A=1", "EMPTY=", "ÜML=é ü"]
        ) { $0.arguments += ["zero", "", "two words", "ö\n"] }
        #expect(run.output == "zero||two words|ö\n|A=1|EMPTY=|ÜML=é ü|")
        #expect(run.status == .exited(0))
    }

    @Test func `a status and a signal are distinguished`() throws {
        #expect(try ShellRun.of("exit 37").status == .exited(37))
        #expect(
            try ShellRun.of("kill -KILL $$").status == .signaled(SIGKILL, coreDumped: false))
    }

    @Test func `the working directory and the file mode mask are set`() throws {
        let run = try ShellRun.of("pwd; umask") {
            $0.workingDirectory = "/usr/bin"
            $0.fileModeMask = 0o027
        }
        #expect(run.lines.first?.hasSuffix("bin") == true)
        #expect(run.lines.last == "0027")
    }

    @Test func `a session is started only if the request says so`() throws {
        let script = "read a b c d e f g </proc/$$/stat; echo $a $f"
        let own = try ShellRun.of(script).output.split { $0 == " " || $0 == "\n" }
        #expect(own[0] == own[1])
        let inherited = try ShellRun.of(script) { $0.startsSession = false }
        #expect(inherited.lines[0].hasSuffix(" \(getsid(0))"))
    }

    @Test(.enabled(if: getuid() == 0, "needs root"))
    func `user, group and groups are set, and no such user can ever trace the parent`() throws {
        let run = try ShellRun.of("grep -E '^(Uid|Gid|Groups)' /proc/$$/status | tr -s ' \\t' ' '")
        {
            $0.identity = .init(user: 1234, group: 2345, supplementaryGroups: [7, 2345, 70000])
        }
        #expect(
            run.lines.map { $0.trimmedEnd } == [
                "Uid: 1234 1234 1234 1234", "Gid: 2345 2345 2345 2345", "Groups: 7 2345 70000",
            ])
        // This process stays undumpable: a child that shares its memory may be left unnoticed.
        #expect(gr_dumpable() == 0)
    }

    @Test func `new privileges are given up`() throws {
        let script = "grep NoNewPrivs /proc/$$/status"
        #expect(try ShellRun.of(script).output.hasSuffix("0\n"))
        #expect(try ShellRun.of(script) { $0.noNewPrivileges = true }.output.hasSuffix("1\n"))
    }

    @Test func `limits are set`() throws {
        let run = try ShellRun.of("ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hf") {
            $0.resourceLimits = [
                ResourceLimit(.openFiles, soft: 64, hard: 100),
                ResourceLimit(.core, soft: 0, hard: 0),
                ResourceLimit(.fileSize, soft: 1 << 20, hard: 1 << 20),
            ]
        }
        #expect(run.lines == ["64", "100", "0", "2048"])
    }

    @Test func `the score for the OOM killer is raised, and lowering it is not a failure`() throws {
        let script = "cat /proc/$$/oom_score_adj"
        #expect(try ShellRun.of(script) { $0.oomScoreAdjustment = 321 }.output == "321\n")
        #expect(try ShellRun.of(script) { $0.oomScoreAdjustment = -900 }.status == .exited(0))
        #expect(try SmallFile.text(of: "/proc/self/oom_score_adj") != "321\n")
    }

    @Test func `signals are unblocked and have their default actions`() async {
        // A separate process, because the first spawn records the ignored signals.
        await #expect(processExitsWith: .exitCode(0)) {
            signal(SIGPIPE, SIG_IGN)
            signal(SIGUSR1) { _ in }
            // Threads of the test runner have most signals blocked.
            var one = sigset_t()
            sigemptyset(&one)
            sigaddset(&one, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &one, nil)
            for avoidsClone3 in [false, true] {
                // The script is cat, because grep handles SIGSEGV itself.
                let run = try ShellRun.of("exec cat /proc/self/status") {
                    $0.avoidsClone3 = avoidsClone3
                }
                let masks = run.lines.filter {
                    $0.hasPrefix("SigBlk") || $0.hasPrefix("SigIgn") || $0.hasPrefix("SigCgt")
                }
                guard masks.count == 3,
                    masks.allSatisfy({ $0.hasSuffix("0000000000000000") })
                else { exit(1) }
            }
            var after = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &after)
            exit(sigismember(&after, SIGUSR2) == 0 ? 0 : 2)
        }
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
