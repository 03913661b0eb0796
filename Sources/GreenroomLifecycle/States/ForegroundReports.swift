// What shells say about the foreground. A shell is whatever knows which window has the user's
// attention: a compositor, or a program that asks the display. It reports which app has the
// foreground, or that none has. A report holds until the shell's next report or the shell's end,
// and concerns only instances of the shell's own user.
//
//   an instance that the report names             comes to the front, thawed if it is suspended
//   an instance that a shell has named before     goes to the background, unless another shell
//                                                 names it
//   any other instance in front of its group      goes to the background if it is the user's and no
//                                                 shell names it
//   an instance that no shell has ever named      stays: it may have no window, or none yet
//   a launch, a request to come to the front      displaces nothing that a shell names
//   a request to go to the background             is obeyed; it counts as never named until the
//                                                 next report
//   the end of a shell                            moves nothing. Its last report protects what it
//                                                 has named until `shellAbsence` is over
//   no shell of the user for `shellAbsence`       launches displace what is in front, as without a
//                                                 shell. Instances that shells sent to the
//                                                 background and that have no group return to the
//                                                 front: nobody would say that the user has
//                                                 returned to the window
//
// Attached instances may be named, and are not moved: their terminal decides.

/// A shell's report of what has the foreground.
public struct ForegroundReport: Hashable, Sendable {
    /// The shell's user. Instances of other users are not moved, whatever the shell says.
    public var user: UInt32
    /// What has the foreground: an instance, or some instance of an app, in which case all of the
    /// app's instances count as in front. Nil if it is nothing that the core knows.
    public var front: Target?

    public init(user: UInt32, front: Target?) {
        self.user = user
        self.front = front
    }
}

extension Lifecycle {
    /// A shell that has crashed is expected to be back after this time.
    private static let shellAbsence: Duration = .seconds(10)

    mutating func foregroundReported(_ shell: ShellIdentifier, _ report: ForegroundReport?) {
        guard let report else {
            if let former = reports.removeValue(forKey: shell) { awaitShell(of: former.user) }
            return
        }
        reports[shell] = report
        deadlines.remove(.shell(user: report.user))
        for id in shown.sorted() where self[id].record.shellUser == report.user {
            let record = self[id].record
            guard isOwn(record, of: report.user), record.belongsInFront, !isReported(id) else {
                continue
            }
            if record.isInFront {
                sendToBackground(id)
            } else {
                decideFront(of: id, inBackground: true)
            }
        }
        for id in named(by: report) { show(id, to: report.user) }
    }

    /// Whether a shell says that the instance has the foreground. The last report of a shell that
    /// is gone counts until no shell is expected to come back.
    func isReported(_ id: InstanceIdentifier) -> Bool {
        guard let record = table[id]?.record else { return false }
        if let user = record.shellUser, isOwn(record, of: user), record.belongsInFront,
            isAwaitingShell(of: user)
        {
            return true
        }
        return reports.values.contains { names($0, record) }
    }

    private func isAwaitingShell(of user: UInt32) -> Bool {
        isRestoring || deadlines[.shell(user: user)] != nil
    }

    private func names(_ report: ForegroundReport, _ record: InstanceRecord) -> Bool {
        let isMeant: Bool =
            switch report.front {
            case .instance(let id): record.instance == id
            case .app(let app): record.app == app
            case nil: false
            }
        return isMeant && isOwn(record, of: report.user)
    }

    /// Whether the instance belongs to the user. If the app's manifest is gone, it belongs to the
    /// user that it had when it was shown.
    func isOwn(_ record: InstanceRecord, of user: UInt32) -> Bool {
        (directory[record.app]?.description?.user ?? record.shellUser) == user
    }

    private func named(by report: ForegroundReport) -> [InstanceIdentifier] {
        let candidates: Set<InstanceIdentifier> =
            switch report.front {
            case .instance(let id): [id]
            case .app(let app): directory[app]?.running ?? []
            case nil: []
            }
        return candidates.sorted().filter { id in
            guard let record = table[id]?.record else { return false }
            return record.state.isRunning && !record.isAttached && names(report, record)
        }
    }

    private mutating func show(_ id: InstanceIdentifier, to user: UInt32) {
        schedule.lastUse = now
        shown.insert(id)
        update(id) { [now] in
            $0.shellUser = user
            $0.lastUsed = now
        }
        let record = self[id].record
        if record.state == .launching, record.manner == .program {
            decideFront(of: id, inBackground: false)
        } else if record.isInFront {
            displace(for: id)
        } else {
            bringBack(id)
        }
    }

    /// Decides where a program that is being launched is to be once it is ready.
    private mutating func decideFront(of id: InstanceIdentifier, inBackground: Bool) {
        update(id) { $0.inBackground = inBackground }
        self[id].launch?.launch.inBackground = inBackground
    }

    /// A report may now name the instance, because it was launched or its app belongs to another
    /// user.
    mutating func noteNamed(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard !reports.isEmpty, !record.isAttached,
            let report = reports.values.first(where: { names($0, record) })
        else { return }
        if record.shellUser != report.user { update(id) { $0.shellUser = report.user } }
        if record.state.isRunning { shown.insert(id) }
    }

    private mutating func bringBack(_ id: InstanceIdentifier) {
        if self[id].record.state == .suspended { thaw(id) }
        activate(id)
    }

    /// A client has sent the instance to the background, so earlier reports about it no longer
    /// count.
    mutating func leaveShell(_ id: InstanceIdentifier) {
        guard shown.remove(id) != nil else { return }
        update(id) { $0.shellUser = nil }
    }

    // MARK: Shells that are gone

    private mutating func awaitShell(of user: UInt32) {
        guard !reports.values.contains(where: { $0.user == user }) else { return }
        deadlines.set(.shell(user: user), at: now.advanced(by: Self.shellAbsence))
    }

    /// After a restart, shells are expected to connect again.
    mutating func awaitFormerShells() {
        for user in Set(shown.compactMap { self[$0].record.shellUser }) { awaitShell(of: user) }
    }

    mutating func shellIsAbsent(of user: UInt32) {
        for id in shown.sorted() {
            let record = self[id].record
            guard record.shellUser == user, group(of: record.app) == nil,
                record.state == .background || record.state == .suspended
            else { continue }
            bringBack(id)
        }
    }
}
