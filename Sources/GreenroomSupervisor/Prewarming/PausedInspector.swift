internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Looks at an instance that has just paused: is it what it should be, what is it made from, and
/// what does it cost? All of this is done before a launch, so that the launch need not.
@LoopActor
final class PausedInspector {
    private let staleness: StalenessWatcher

    init(staleness: StalenessWatcher) { self.staleness = staleness }

    /// - Returns: false if the instance must not be launched: a file of it changed already.
    func inspect(_ instance: Instance, app: InstalledApp?) -> Bool {
        guard let app else { return false }
        instance.isInspected = true
        instance.argumentPrefix = commandLine(of: instance.pid)
        instance.prepareForLaunch()
        do throws(MappedFiles.Failure) {
            // An app that sees another file system names files as they are called there.
            let hasOwnMounts = app.confinement?.hasOwnMounts == true
            let root = hasOwnMounts ? Instance.rootPath(of: instance.pid) : ""
            let mapped = try MappedFiles.mappedFiles(instance.pid).filter(\.isProgramText)
                .map { $0.below(root) }.filter { !$0.isAnonymous }
            // Watched before they are compared: no change falls between the two.
            return staleness.watch(mapped.map(\.path), for: instance.identifier)
                && mapped.allSatisfy(\.isCurrent) && !app.fingerprint.contains(where: \.hasChanged)
        } catch {
            return false
        }
    }

    func forget(_ instance: InstanceIdentifier) { staleness.forget(instance) }

    func byteCount(of instance: Instance) -> UInt64 { MemoryMeasurer.byteCount(of: instance) }

    /// argv as the kernel has it (proc_pid_cmdline(5)): a script's begins with its interpreter.
    private func commandLine(of pid: Int32) -> [String] {
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/cmdline") else { return [] }
        return text.split(separator: "\0", omittingEmptySubsequences: false).dropLast().map(
            String.init)
    }
}
