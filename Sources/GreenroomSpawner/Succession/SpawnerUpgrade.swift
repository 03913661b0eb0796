internal import Glibc
internal import GreenroomLinux

extension Spawner {
    /// Executes the program again, which may be a newer one by now, and passes on everything that
    /// it needs to go on. Returns only if that failed, with everything as before.
    func upgrade() throws(SystemError) {
        killGuarded()
        cgroups.emptyReserve()
        cgroups.removeLitter()
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
        // A child that cannot be killed may have a copy of the connection, so it is shut down: the
        // supervisor then sees its end.
        connection.end()
        do {
            try OwnProgram.execute(options.program, arguments)
        } catch {
            connection.disconnect()
            try succession.setInheritable(false)
            throw error
        }
    }

    /// Goes on where the last execution stopped.
    func resume(_ succession: Succession) {
        // The last execution may not have removed every cgroup yet.
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
