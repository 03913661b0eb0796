import GreenroomManifest
import GreenroomPolicy
import Testing
import UnitFile

@Suite struct DaemonConfigurationTests {
    @Test func `an empty file gives the defaults`() {
        let (configuration, diagnostics) = DaemonConfiguration.parse("", file: "greenroom.conf")
        #expect(configuration == DaemonConfiguration())
        #expect(diagnostics == [])
    }

    @Test func `every key is read`() throws {
        let text = """
            [Greenroom]
            PrewarmBudget=512M
            WindowBudget=0
            WindowNeedsSession=no
            PrewarmTimeToLiveSec=1
            LaunchDeadlineSec=2
            PauseDeadlineSec=3
            StartDeadlineSec=4
            BackgroundGraceSec=5
            TerminateGraceSec=6
            BackOffFirstSec=7
            BackOffCapSec=8
            CrashLoopCount=9
            CrashLoopWindowSec=10
            ConcurrentPrewarms=11
            RefillDelaySec=20
            InstanceLimit=12
            ConnectionsPerUser=13
            ConnectionsMax=14
            ControlGroups=a b
            ObserveGroups=c
            AdministerGroups=0
            """
        let (read, diagnostics) = DaemonConfiguration.parse(text, file: "greenroom.conf")
        #expect(diagnostics == [])
        var expected = DaemonConfiguration()
        expected.policy.prewarmByteBudget = 512 << 20
        expected.windowBudget = 0
        expected.policy.windowNeedsSession = false
        expected.policy.prewarmTimeToLive = .seconds(1)
        expected.policy.launchDeadline = .seconds(2)
        expected.policy.pauseDeadline = .seconds(3)
        expected.policy.startDeadline = .seconds(4)
        expected.policy.backgroundGrace = .seconds(5)
        expected.policy.terminateGrace = .seconds(6)
        expected.policy.backOffFirst = .seconds(7)
        expected.policy.backOffCap = .seconds(8)
        expected.policy.crashLoopCount = 9
        expected.policy.crashLoopWindow = .seconds(10)
        expected.policy.concurrentPrewarms = 11
        expected.policy.refillDelay = .seconds(20)
        expected.policy.instanceLimit = 12
        expected.connectionsPerUser = 13
        expected.connectionsMax = 14
        expected.controlGroups = ["a", "b"]
        expected.observeGroups = ["c"]
        expected.administerGroups = ["0"]
        #expect(read == expected)
    }

    @Test(arguments: [
        (
            "PrewarmBudget=lots",
            "2:15: PrewarmBudget=: 'lots' is not a size such as 4096, 512K, 64M or 1.5G"
        ),
        (
            "PauseDeadlineSec=0",
            "2:18: PauseDeadlineSec=: must be more than 0; infinity waits for ever"
        ),
        ("RefillDelaySec=2min", "2:16: RefillDelaySec=: must be at most 1min; 0 refills at once"),
        ("CrashLoopCount=0", "2:16: CrashLoopCount=: '0' is not a whole number from 1 to 100"),
        ("BackOffFirstSec=1h", "2:17: BackOffFirstSec= is more than BackOffCapSec="),
        ("ConnectionsMax=10", "2:16: ConnectionsPerUser= is more than ConnectionsMax="),
        ("ControlGroups=a -", "2:17: ControlGroups=: '-' is not the name or number of an account"),
    ])
    func `a file with an error gives no configuration`(line: String, expected: String) {
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            "[Greenroom]\n" + line, file: "g.conf")
        #expect(configuration == nil)
        #expect(diagnostics.map(\.description) == ["g.conf:" + expected])
    }

    @Test func `unknown keys are warnings`() {
        let (configuration, diagnostics) = DaemonConfiguration.parse(
            "[Greenroom]\nPrewarmBuget=1G", file: "g.conf")
        #expect(configuration == DaemonConfiguration())
        #expect(
            diagnostics.map(\.description) == [
                "g.conf:2:1: warning: unknown key PrewarmBuget= in [Greenroom], ignoring"
                    + "; did you mean PrewarmBudget?"
            ])
    }
}
