internal import Glibc
internal import GreenroomLinux

/// Makes a running instance from a specification.
struct InstanceStart {
    let specification: SpawnSpecification
    /// The instance's own cgroup, empty; nil without cgroups.
    let cgroup: (cgroup: Cgroup, name: String)?
    /// The spawner's limit on open files, as it was before the spawner raised it.
    let openFiles: ResourceLimit
    /// The process in whose descriptor table the descriptors from strangers are.
    let owner: ProcessDescriptor?
    let waiters: SpawnWaiters
    /// Where the start is announced, if it can be.
    let supervisor: UnixSocket?

    /// A start under way. It keeps open the descriptors that are passed to the process.
    struct Begun {
        let spawn: SpawnUnderWay
        let channel: UnixSocket?
        /// The app's end of the channel.
        let farChannel: UnixSocket?
        private let open: [FileDescriptor]

        init(
            _ spawn: SpawnUnderWay, channel: (ours: UnixSocket, apps: UnixSocket)?,
            open: [FileDescriptor]
        ) {
            self.spawn = spawn
            self.channel = channel?.ours
            farChannel = channel?.apps
            self.open = open
        }
    }

    func begin() throws(SpawnError) -> Begun {
        var request = request
        try keepInside(&request)
        let null = try placeDescriptors(in: &request)
        let channel = try specification.wantsChannel ? openChannel(in: &request) : nil
        request.cgroup = cgroup?.cgroup.directory
        request.announcement = announcement(channel?.ours)
        try limit(cgroup?.cgroup)
        return Begun(
            try request.begin(with: waiters), channel: channel, open: [null].compactMap(\.self))
    }

    /// The message with which the waiter announces the running program to the supervisor.
    ///
    /// - Returns: nil if the waiter announces nothing. This is so for a guarded instance: nobody
    ///   waits for it, and the supervisor must be told whether the guard works. It is also so
    ///   without a cgroup, because the next spawner would not find an instance that is not in the
    ///   ledger yet.
    private func announcement(_ channel: UnixSocket?) -> SpawnRequest.Announcement? {
        guard let supervisor, let cgroup, specification.guardedExecutions == 0 else { return nil }
        let (message, pidOffset) = TableEntry.announcement(
            of: specification.instance, app: specification.app, cgroupName: cgroup.name,
            hasChannel: channel != nil)
        return .init(
            to: supervisor, message, pidAt: pidOffset, channel: channel?.descriptor)
    }

    private var request: SpawnRequest {
        var request = SpawnRequest(
            path: specification.path, arguments: specification.arguments,
            environment: specification.environment)
        request.workingDirectory = specification.workingDirectory
        request.workingDirectoryDescriptor = specification.workingDirectoryDescriptor
        request.fileModeMask = specification.fileModeMask
        request.identity = specification.identity
        request.noNewPrivileges = specification.noNewPrivileges
        request.confinement = specification.confinement
        request.resourceLimits = specification.resourceLimits
        if !request.resourceLimits.contains(where: { $0.resource == .openFiles }) {
            request.resourceLimits.append(openFiles)
        }
        request.inherited = specification.inherited
        request.oomScoreAdjustment = specification.oomScoreAdjustment
        request.isTraced = specification.guardedExecutions > 0
        request.takesControllingTerminal = specification.takesControllingTerminal
        // LISTEN_PID is the last variable, so that no launch has to search for it.
        request.tellsListenPid =
            specification.environment.ends(with: SpawnRequest.listenPidPlaceholder)
        return request
    }

    /// A directory's descriptor would lead out of the app's own file system, so the directory is
    /// entered by its name inside that file system. The app's user may have put another directory
    /// there, but the process enters it with the rights of the app only.
    private func keepInside(_ request: inout SpawnRequest) throws(SpawnError) {
        guard request.confinement?.hasOwnMounts == true,
            let directory = request.workingDirectoryDescriptor
        else { return }
        do {
            request.workingDirectory = try directory.path()
            request.workingDirectoryDescriptor = nil
        } catch {
            throw SpawnError(stage: .directory, code: error.code)
        }
    }

    private func limit(_ cgroup: Cgroup?) throws(SpawnError) {
        for setting in specification.cgroupSettings {
            guard let cgroup else {
                throw SpawnError(
                    stage: .resources, code: EOPNOTSUPP,
                    subject: "\(setting.file), which needs cgroup v2")
            }
            do {
                try cgroup.write(setting.file, setting.value)
            } catch {
                // If the controller is missing, the file does not exist.
                guard error.code == ENOENT else {
                    throw SpawnError(stage: .resources, code: error.code, subject: setting.file)
                }
                let controller = setting.file.prefix { $0 != "." }
                throw SpawnError(
                    stage: .resources, code: EOPNOTSUPP,
                    subject: "\(setting.file), which needs the controller \(controller) in "
                        + "greenroom-spawner's cgroup")
            }
        }
    }

    /// - Returns: /dev/null if a standard stream needs it. Keep it open until the spawn.
    private func placeDescriptors(
        in request: inout SpawnRequest
    ) throws(SpawnError) -> FileDescriptor? {
        request.descriptors = specification.descriptors.map {
            .init(
                $0.descriptor?.rawValue ?? $0.number, at: $0.target, isOwners: $0.descriptor == nil)
        }
        request.owner = owner
        let missing = (CInt(0)...2).filter { target in
            !request.descriptors.contains { $0.target == target }
                && specification.closedDescriptors >> target & 1 == 0
        }
        if missing.isEmpty { return nil }
        do throws(SystemError) {
            let null = try FileDescriptor.open("/dev/null", O_RDWR)
            request.descriptors += missing.map { .init(null.rawValue, at: $0) }
            return null
        } catch {
            throw SpawnError(stage: .descriptors, code: error.code)
        }
    }

    /// Places the app's end at the top of the app's table, so that the first number that a program
    /// gets is still 3. The app's end is a blocking socket, because the pause is a plain receive.
    private func openChannel(
        in request: inout SpawnRequest
    ) throws(SpawnError) -> (ours: UnixSocket, apps: UnixSocket) {
        do {
            let (ours, apps) = try UnixSocket.pair(.seqpacket, nonblocking: false)
            try ours.descriptor.setNonblocking(true)
            try ours.refuseDescriptors()
            let number = SpawnSpecification.channelNumber(
                openFiles: request.resourceLimits.first { $0.resource == .openFiles }?.soft)
            let inode = try apps.descriptor.identity().inode
            request.descriptors.append(.init(apps.descriptor.rawValue, at: number))
            request.environment.append("GREENROOM_CHANNEL=\(number):\(inode)")
            if request.isTraced {
                request.environment.append(SpawnRequest.writtenPlaceholder)
            }
            return (ours, apps)
        } catch {
            throw SpawnError(stage: .descriptors, code: error.code)
        }
    }
}
