internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux

/// The order to go: what a launch brought, in the form in which a paused instance takes it.
extension Launcher {
    /// - Returns: false if the instance cannot receive the order.
    func sendGo(
        _ context: LaunchContext, to instance: Instance, of app: InstalledApp,
        on channel: UnixSocket
    ) throws -> Bool {
        var (roles, descriptors) = Self.streams(of: context)
        if let directory = context.workingDirectory {
            roles.append(.workingDirectory)
            descriptors.append(directory.rawValue)
        }
        let message = DaemonMessage.go(
            GoMessage(
                arguments: try StringList(strings: arguments(of: context, app, instance)),
                environment: try environment(of: context, app, instance),
                flags: Self.flags(context, app), umask: context.umask, roles: roles))
        let encoded = try message.encoded()
        if context.inheritsMoreThanPaused, let state = context.inherited {
            let bytes = InheritMessage.encoded(
                state.asPaused(app).encoded(atPause: true))
            guard try channel.send(bytes, descriptors: [CInt]()) != nil else { return false }
        }
        // Strings that are too long for one message go into a file of their own.
        let strings = try encoded.descriptorStrings.map { bytes in
            unsafe try bytes.withUnsafeBytes {
                unsafe try SealedFile.create($0, name: "greenroom-strings")
            }
        }
        if let strings { descriptors.append(strings.rawValue) }
        let sent = try channel.send(encoded.datagram, descriptors: descriptors)
        withExtendedLifetime(strings) {}
        return sent != nil
    }

    private static func streams(
        of context: LaunchContext
    ) -> (roles: [DescriptorRole], descriptors: [CInt]) {
        var roles: [DescriptorRole] = []
        var descriptors: [CInt] = []
        for (target, stream) in context.standardStreams.enumerated() {
            guard let stream else { continue }
            roles.append(.place(Int32(target)))
            descriptors.append(stream.rawValue)
        }
        for other in context.otherDescriptors {
            roles.append(.place(other.number))
            descriptors.append(other.descriptor.rawValue)
        }
        return (roles, descriptors)
    }

    private func depth(of instance: Instance) -> PrewarmDepth {
        core.depth(of: instance.identifier) ?? .main
    }

    /// For a script, the instance runs its interpreter, whose words come before the launch's.
    private func arguments(
        of context: LaunchContext, _ app: InstalledApp, _ instance: Instance
    ) -> [ByteString] {
        let depth = depth(of: instance)
        // The words of an interpreter that has booted already are those of its prewarm.
        if depth == .runtime {
            let words = app.program.depth.scriptWords
            return words.isEmpty
                ? context.arguments
                : words.map(ByteString.text) + context.arguments.dropFirst()
        }
        // A held program was started with the words of its launches.
        guard depth != .window,
            instance.argumentPrefix.count > app.wordsBeforePause.count
        else { return context.arguments }
        return instance.argumentPrefix
            + context.arguments.dropFirst(app.wordsBeforePause.count)
    }

    private func environment(
        of context: LaunchContext, _ app: InstalledApp, _ instance: Instance
    ) throws -> StringList {
        guard
            let own = contexts.environment(
                of: context, app, instance.identifier, pid: instance.pid)
        else { return app.environment.encoded }
        return try StringList(strings: own)
    }

    private static func flags(_ context: LaunchContext, _ app: InstalledApp) -> GoMessage.Flags {
        var flags: GoMessage.Flags = app.command.setsCommandLine ? .setCommandLine : []
        // The instance has led a session of its own since it was spawned.
        if context.takesTerminal { flags.insert(.controllingTerminal) }
        // A descriptor would lead out of the app's own mounts. By name, the app itself enters a
        // directory that it may enter.
        if app.restrictions.confinement?.hasOwnMounts == true { flags.insert(.directoryByName) }
        return flags
    }
}
