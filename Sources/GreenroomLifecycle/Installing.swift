// Changes by the administrator: installed apps and the policy.

extension Lifecycle {
    mutating func appInstalled(_ description: AppDescription) {
        let app = description.identifier
        if directory[app] == nil || self[app].isRemoved { addApp(app) }
        let old = self[app].description
        for id in self[app].running { leaveFront(self[id].record) }
        self[app].description = Entry(description)
        reviewForceQuit(of: app)
        dependents.replace(app, old?.dependencies.value, description.dependencies.value)
        contestFront(of: app)
        if let old, old.generation != description.generation { giveNewChance(app) }
        triggers[app] = nil
        if let old, old.environmentKey != description.environmentKey {
            setPoolKey(description.environmentKey, of: app, isWanted: true)
        }
        discardUnwanted(description)
        if !isRestoring { reviewHeld(of: app) }
        reviseSuspension(description)
        cancelUndeclaredTasks(of: app)
        wantRefill(of: app)
        if isRestored {
            // The app may belong to another user now.
            reviewInterruptions(of: app)
            considerAutostart(CollectionOfOne(app), mayStart: false)
        }
        reviewSocket(of: app)
    }

    private mutating func addApp(_ app: AppIdentifier) {
        var entry = directory[app] ?? Entry(App(record: AppRecord(app: app)))
        entry.record = Self.remembered(entry.record)
        entry.isRemoved = false
        entry.windowMissedAt = nil
        directory[app] = entry
        updateApp(app) { _ in }
    }

    /// Forgets the app's failures, because a new build may have corrected what failed.
    mutating func giveNewChance(_ app: AppIdentifier) {
        self[app].unorderedKillCount = 0
        self[app].windowMissedAt = nil
        updateApp(app) {
            $0.prewarmFailures = 0
            $0.prewarmRetryAt = nil
            $0.isReclaimed = false
            $0.misfiredGeneration = nil
            $0.misfireKind = .startsPrograms
            $0.depth.demotion = nil
            $0.depth.anewStreak = 0
            $0.launchFailures = 0
            $0.launchRetryAt = nil
            $0.crashes = []
            $0.crashLoopUntil = nil
            $0.failure = nil
            $0.starts = []
            $0.restartCount = 0
            $0.restartStreak = 0
        }
        self[app].libraries = .none
        triggers[app] = nil
        schedule.needsReview = true
        reviewSocket(of: app)
    }

    /// Ends paused instances of another generation (except those of `Booted`), and those beyond the
    /// count. If the count is 0, one may stay, because a client may have asked for it.
    private mutating func discardUnwanted(_ description: AppDescription) {
        let app = description.identifier
        for id in self[app].pool + self[app].filling {
            let record = self[id].record
            if isBooted(record), record.state == .prewarmed, self[app].isEligible {
                withSpares.insert(app)
            } else if record.generation != description.generation {
                discardStale(id)
            } else if !self[app].isEligible {
                end(id, .poolTrimmed, gently: false)
            }
        }
        if !self[app].isEligible { refusePrewarms(of: app, .ineligible(app)) }
        let members = latestMembers(of: app)
        for id in members.dropFirst(max(1, description.prewarmCount)) {
            end(id, .poolTrimmed, gently: false)
        }
        limitAges(of: app)
    }

    private mutating func reviseSuspension(_ description: AppDescription) {
        let members = self[description.identifier].running
        for id in members.sorted()
        where self[id].record.state == .background && !self[id].record.isTravelling {
            guard !isKeptRunning(id) else {
                reviseBackgroundTime(id)
                continue
            }
            let isTimed = self[id].record.deadline != nil
            guard isTimed != description.suspendsInBackground else { continue }
            let deadline = suspensionDeadline(of: self[id].record)
            update(id) { $0.deadline = deadline }
        }
    }

    mutating func appRemoved(_ app: AppIdentifier, isGone: Bool) {
        guard let entry = directory[app], !entry.isRemoved || entry.record.isForceQuit else {
            return
        }
        withdraw(app)
        if !isGone, isForceQuit(app) {
            self[app].record = Self.remembered(self[app].record)
            guard !self[app].isDirty else { return }
            self[app].isDirty = true
            dirtyApps.append(app)
        } else {
            effects.append(.eraseApp(app))
            guard directory[app] != nil else { return }
            self[app].record.isForceQuit = false
            forgetIfUnused(app)
        }
    }

    /// The part of a removed app's record that still counts if the app returns.
    private static func remembered(_ record: AppRecord) -> AppRecord {
        var next = AppRecord(app: record.app)
        next.isForceQuit = record.isForceQuit
        return next
    }

    /// Forgets a removed app of which nothing is left to remember.
    mutating func forgetIfUnused(_ app: AppIdentifier) {
        guard let entry = directory[app], entry.isRemoved, entry.members.isEmpty,
            !entry.record.isForceQuit
        else { return }
        directory[app] = nil
    }

    private mutating func withdraw(_ app: AppIdentifier) {
        guard let entry = directory[app], !entry.isRemoved else { return }
        for id in entry.running { leaveFront(self[id].record) }
        self[app].description = nil
        self[app].isRemoved = true
        toBeHeld.remove(app)
        dependents.replace(app, entry.description?.dependencies.value, nil)
        deadlines.remove(.app(app))
        triggers[app] = nil
        clearStart(app)
        forgetTasks(of: app)
        refuseBlocked(app, .noSuchApp(app))
        availabilityChanged(of: app)
        if entry.isListening { effects.append(.ignoreConnections(app)) }
        self[app].isListening = false
        refusePrewarms(of: app, .noSuchApp(app))
        for id in entry.pool + entry.filling { end(id, .poolTrimmed, gently: false) }
        for id in entry.running.sorted() where self[id].record.state == .background {
            stopClock(id)
            update(id) { $0.deadline = nil }
        }
    }

    mutating func policyChanged(_ policy: Policy) {
        // A new policy may judge the machine's condition differently.
        conditions = Conditions(isInspecting: conditions.isInspecting)
        deadlines.remove(.conditions)
        machineChanged()
        if !toBeHeld.isEmpty { inspectConditions() }
        guard policy != self.policy else { return }
        let couldHold = directory.keys.filter { mayHold($0) }
        self.policy = policy
        reviewHeld()
        let canHold = Set(directory.keys.filter { mayHold($0) })
        holdInstead(of: canHold.subtracting(couldHold).sorted())
        for app in directory.keys.sorted() {
            reviewForceQuit(of: app)
            wantRefill(of: app)
            reviewSocket(of: app)
            cancelUndeclaredTasks(of: app)
        }
        schedule.needsReview = true
        enforceBudget()
        forgetOldEnds()
    }
}
