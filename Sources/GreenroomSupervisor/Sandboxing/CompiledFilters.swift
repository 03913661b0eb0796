internal import GreenroomManifest
internal import Systemd

/// Compiled filters of system calls, by the settings that they were made from, while manifests are
/// being read. Compiling a filter takes milliseconds, and many apps are confined alike.
@LoopActor
final class CompiledFilters {
    private var known: [Sandbox: [[UInt8]]] = [:]

    func filters(of sandbox: Sandbox) throws(ConfinementPlan.Failure) -> [[UInt8]] {
        if let made = known[sandbox] { return made }
        let made = try CallFilterCompiler(sandbox).compile()
        if !made.isEmpty { known[sandbox] = made }
        return made
    }
}
