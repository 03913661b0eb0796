import GreenroomLifecycle
import GreenroomManifest
import Testing

@testable import GreenroomSupervisor

struct PolicyDefaultTests {
    @Test func `the core and greenroom conf have the same defaults`() {
        var intended = Policy()
        // The core alone knows no machine that it could ask; the daemon does.
        intended.inspectsConditions = true
        intended.inspectsFileLocks = true
        intended.pagesOutSuspended = true
        intended.prewarmStartDelay = .seconds(10)
        // If there are two users, each leaves half of the instances to the other.
        intended.instancesPerUser = 1024

        var configured = Policy(DaemonConfiguration())
        configured.administrator = intended.administrator
        #expect(configured == intended)
    }
}
