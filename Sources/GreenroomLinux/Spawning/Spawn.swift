internal import CGreenroomLinux
internal import Glibc

extension SpawnRequest {
    /// Begins to start the process (clone3, execve) and returns at once, whatever the child then
    /// waits for. When ``SpawnUnderWay/isOver`` is true, the process runs its program or never
    /// will.
    ///
    /// If the kernel or a filter does not permit clone3 or CLONE_INTO_CGROUP, clone is used and the
    /// child enters its cgroup itself. That is slower, but otherwise the same.
    ///
    /// - Parameter waiters: where the waiter comes from and returns to. If nil, the waiter serves
    ///   this spawn alone, and the spawn is over when the waiter ends.
    public func begin(with waiters: SpawnWaiters? = nil) throws(SpawnError) -> SpawnUnderWay {
        try check()
        guard let strings = StringTables(path, workingDirectory, arguments, environment) else {
            throw SpawnError(stage: .arguments, code: EINVAL)
        }
        var start = unsafe Start(waiter: waiters?.take(), report: waiters?.reportNumber ?? -1)
        let handle = unsafe withUnsafeTemporaryAllocation(
            byteCount: strings.byteCount, alignment: MemoryLayout<Int>.alignment
        ) { unsafe begin(strings.write(into: $0), &start) }
        guard let handle = unsafe handle else {
            if let waiter = unsafe start.waiter {
                unsafe waiters?.giveBack(gr_waiter_pid(waiter))
            }
            throw unsafe error(start.why)!
        }
        unsafe waiters?.add(gr_spawn_waiter(handle))
        return unsafe SpawnUnderWay(handle, self, waiters)
    }

    /// What a spawn is begun with besides the request.
    @unsafe private struct Start {
        let waiter: OpaquePointer?
        let report: CInt
        /// Why the spawn could not begin.
        var why = gr_spawned()
    }

    /// Starts the process and waits until it runs its program or has failed: 0.1–0.2 ms, whatever
    /// the size of this process. A process that has not executed its program within ten seconds is
    /// killed (ETIMEDOUT). For programs without a loop, and for children that nobody else can
    /// delay.
    public func spawn() throws(SpawnError) -> Spawned {
        let spawn = try begin()
        guard spawn.wait(milliseconds: SpawnUnderWay.patienceMilliseconds) else {
            throw SpawnError(stage: .execute, code: ETIMEDOUT)
        }
        return try spawn.end().get()
    }

    func error(_ result: gr_spawned) -> SpawnError? {
        if result.error == 0 { return nil }
        return SpawnError(
            stage: SpawnError.Stage(result.stage), code: result.error,
            subject: subject(ofStep: result.step))
    }

    /// The path of the mount that failed.
    private func subject(ofStep step: CInt) -> String? {
        step < 0 ? nil : confinement?.mounts[Int(step)].target
    }

    /// Whether the process gives up new privileges. Without CAP_SYS_ADMIN, the kernel accepts a
    /// filter only from a process that does (seccomp(2)). systemd.exec(5) has the same rule.
    private var givesUpPrivileges: Bool {
        guard !noNewPrivileges, let confinement, !confinement.filters.isEmpty else {
            return noNewPrivileges
        }
        let bounding = confinement.capabilityBoundingSet ?? .max
        return (identity?.user ?? geteuid()) != 0 || bounding >> 21 & 1 == 0
    }

    private func check() throws(SpawnError) {
        // There are few, and each launch comes here, so no set is made of them.
        for (index, descriptor) in descriptors.enumerated() {
            let target = descriptor.target
            if target < 0 || descriptors[..<index].contains(where: { $0.target == target }) {
                throw SpawnError(stage: .descriptors, code: EINVAL)
            }
        }
        // -1 leaves an id as it is (setresuid(2)), so the app would keep ours.
        if identity?.group == .max { throw SpawnError(stage: .group, code: EINVAL) }
        if identity?.user == .max { throw SpawnError(stage: .user, code: EINVAL) }
        guard inherited.isEmpty || inherited.count == MemoryLayout<gr_inherited>.size else {
            throw SpawnError(stage: .arguments, code: EINVAL)
        }
        if let confinement, !confinement.isValid {
            throw SpawnError(stage: .arguments, code: EINVAL)
        }
    }

    private func begin(_ tables: StringTables.Pointers, _ start: inout Start) -> OpaquePointer? {
        guard let confinement else { return unsafe begin(tables, confinement: nil, &start) }
        return unsafe confinement.withRequest { unsafe begin(tables, confinement: $0, &start) }
    }

    private func begin(
        _ tables: StringTables.Pointers, confinement: UnsafePointer<gr_confinement>?,
        _ start: inout Start
    ) -> OpaquePointer? {
        let mappings = descriptors.map {
            gr_fd_mapping(from: $0.source, to: $0.target, theirs: $0.isOwners)
        }
        let limits = resourceLimits.map {
            gr_limit(resource: $0.resource.rawValue, soft: $0.soft, hard: $0.hard)
        }
        let groups = identity?.supplementaryGroups ?? []
        return unsafe mappings.withUnsafeBufferPointer { mappings in
            unsafe limits.withUnsafeBufferPointer { limits in
                unsafe groups.withUnsafeBufferPointer { groups in
                    var request = unsafe gr_spawn_request(
                        path: tables.path, argv: tables.arguments, envp: tables.environment,
                        cwd: tables.workingDirectory,
                        cwd_fd: workingDirectoryDescriptor?.rawValue ?? -1,
                        cgroup: cgroup?.rawValue ?? -1,
                        fds: mappings.baseAddress, fd_count: CInt(mappings.count),
                        owner: owner?.descriptor.rawValue ?? -1,
                        limits: limits.baseAddress, limit_count: CInt(limits.count),
                        groups: groups.baseAddress, group_count: CInt(groups.count),
                        uid: identity?.user ?? 0, gid: identity?.group ?? 0,
                        umask: fileModeMask.map { CInt($0) } ?? -1,
                        oom_score_adjust: CInt(oomScoreAdjustment ?? 0),
                        has_identity: identity != nil, has_oom_score: oomScoreAdjustment != nil,
                        new_session: startsSession, no_new_privileges: givesUpPrivileges,
                        controlling_terminal: takesControllingTerminal, traced: isTraced,
                        confinement: confinement, tells_listen_pid: tellsListenPid,
                        inherited: nil, announcement: nil, without_clone3: avoidsClone3)
                    return unsafe withInherited { state in
                        unsafe withAnnouncement { announcement in
                            unsafe request.inherited = state
                            unsafe request.announcement = announcement
                            return unsafe gr_spawn_begin(
                                &request, start.waiter, start.report, &start.why)
                        }
                    }
                }
            }
        }
    }
}

extension SpawnError.Stage {
    init(_ stage: CInt) {
        guard let known = Self(rawValue: UInt8(stage)) else {
            preconditionFailure("a stage that spawn.c does not have")
        }
        self = known
    }
}

extension SpawnRequest {
    fileprivate func withInherited<Result>(
        _ body: (UnsafePointer<gr_inherited>?) -> Result
    ) -> Result {
        if inherited.isEmpty { return body(nil) }
        var state = gr_inherited()
        unsafe withUnsafeMutableBytes(of: &state) { unsafe $0.copyBytes(from: inherited) }
        return unsafe withUnsafePointer(to: &state) { unsafe body($0) }
    }

    fileprivate func withAnnouncement<Result>(
        _ body: (UnsafePointer<gr_announcement>?) -> Result
    ) -> Result {
        guard let announcement else { return body(nil) }
        return unsafe announcement.message.withUnsafeBytes { message in
            var value = unsafe gr_announcement(
                socket: announcement.socket.descriptor.rawValue, message: message.baseAddress!,
                byte_count: message.count, pid_at: announcement.pidOffset,
                channel: announcement.channel?.rawValue ?? -1)
            return unsafe withUnsafePointer(to: &value) { unsafe body($0) }
        }
    }
}

/// argv, envp and the paths in one buffer: the pointers first, then the bytes.
private struct StringTables {
    /// Pointers into the buffer, valid for as long as the buffer.
    @unsafe struct Pointers {
        let path: UnsafePointer<CChar>
        let workingDirectory: UnsafePointer<CChar>?
        let arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>
        let environment: UnsafePointer<UnsafeMutablePointer<CChar>?>
    }

    let paths: StringBlock
    let arguments: StringBlock
    let environment: StringBlock

    /// Returns nil if nothing can be executed with this: no argv[0], or a path with a NUL.
    init?(
        _ path: String, _ directory: String?, _ arguments: StringBlock, _ environment: StringBlock
    ) {
        guard arguments.count > 0, let paths = StringBlock([path] + (directory.map { [$0] } ?? []))
        else { return nil }
        self.paths = paths
        self.arguments = arguments
        self.environment = environment
    }

    private var pointerCount: Int { arguments.count + environment.count + paths.count + 3 }

    var byteCount: Int {
        pointerCount * MemoryLayout<Int>.stride + arguments.bytes.count + environment.bytes.count
            + paths.bytes.count
    }

    func write(into buffer: UnsafeMutableRawBufferPointer) -> Pointers {
        let table = unsafe buffer.baseAddress!.bindMemory(
            to: UnsafeMutablePointer<CChar>?.self, capacity: pointerCount)
        let first = unsafe table + (arguments.count + 1)
        let second = unsafe first + (environment.count + 1)
        var end = unsafe buffer.baseAddress! + pointerCount * MemoryLayout<Int>.stride
        unsafe Self.lay(arguments, at: &end, table)
        unsafe Self.lay(environment, at: &end, first)
        unsafe Self.lay(paths, at: &end, second)
        return unsafe Pointers(
            path: second[0]!, workingDirectory: second[1].map { unsafe UnsafePointer($0) },
            arguments: UnsafePointer(table), environment: UnsafePointer(first))
    }

    /// Copies the bytes to `end`, moves `end` after them, and writes the start of each string into
    /// `table`.
    private static func lay(
        _ block: StringBlock, at end: inout UnsafeMutableRawPointer,
        _ table: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    ) {
        unsafe block.bytes.withUnsafeBytes {
            if let source = $0.baseAddress {
                unsafe end.copyMemory(from: source, byteCount: $0.count)
            }
        }
        var next = unsafe end.assumingMemoryBound(to: CChar.self)
        for index in 0..<block.count {
            unsafe table[index] = next
            unsafe next += strlen(next) + 1
        }
        unsafe table[block.count] = nil
        unsafe end += block.bytes.count
    }
}
