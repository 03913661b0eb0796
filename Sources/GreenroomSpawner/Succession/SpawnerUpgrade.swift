internal import Glibc
internal import GreenroomLinux

extension Spawner {
    /// Executes the program file again, which may be a newer one by now, and passes on everything
    /// that the new execution needs. Throws if that failed: then the spawner goes on, but has
    /// killed guarded instances, and the supervisor may have to connect again.
    func upgrade() throws(SystemError) {
        killGuarded()
        cgroups.emptyReserve()
        cgroups.removeDiscarded()
        let succession = Succession(
            listener: connection.listener.descriptor, subtree: cgroups.subtree,
            openFiles: openFiles.original,
            graceMilliseconds: graceMilliseconds, state: legacy.state,
            instances: Array(instances.values), kept: legacy.kept)
        let bytes = succession.encoded()
        let file = unsafe try bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
            unsafe try SealedFile.create(bytes, name: "greenroom-succession")
        }
        try succession.setInheritable(true)
        try file.setCloseOnExec(false)
        var arguments = options.commandLine
        arguments += [SpawnerOptions.successionOption, "\(file.rawValue)"]
        // The connection is shut down so that the supervisor sees its end even if a child that
        // cannot be killed has a copy of it.
        connection.end()
        do {
            try OwnProgram.execute(options.program, arguments)
        } catch {
            connection.disconnect()
            try succession.setInheritable(false)
            throw error
        }
    }

    /// Continues where the last execution stopped.
    func takeUp(_ succession: Succession) {
        // The last execution may not have removed all cgroups of ended instances.
        cgroups.hasStrays = true
        graceMilliseconds = succession.graceMilliseconds
        legacy.state = succession.state
        legacy.kept = succession.kept
        for var instance in succession.instances {
            if instance.status != nil, !instance.isEmptied {
                instance.watch = watchEmptiness(of: instance.group)
            }
            takeOver(instance)
        }
    }
}
