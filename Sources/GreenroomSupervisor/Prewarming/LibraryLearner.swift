internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Learns which libraries programs open after main, and keeps their names for later prewarms,
/// including those of later daemons. These open the libraries before their pause (`libraries.h` of
/// the shim).
///
/// An instance that was launched from the pool is looked at while it starts: after ``firstLook``,
/// and then at doubling intervals until ``lastLook``. The instance has opened the files that it has
/// mapped now and had not mapped at its pause. If the program ends sooner, the last look counts.
/// The list is complete only if the program is at rest at the last look and has opened nothing since
/// the look before: on a busy machine, it may not have begun by then. Then a later launch is looked
/// at, too.
/// Another process reads /proc (``DetachedCalls``), because the instance may keep whoever looks at
/// it waiting.
@LoopActor
final class LibraryLearner {
    private static let firstLook = Duration.milliseconds(25)
    /// A start is usually over by then.
    private static let lastLook = Duration.milliseconds(3200)

    /// More than a line of /proc/PID/stat has.
    private static let statByteLimit = 4096

    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let calls: DetachedCalls
    /// Tells which libraries may be opened although no launch has asked for them: those in whose
    /// place only root and the daemon's own user can put another file.
    private let owners = PathOwners()

    private final class Pause: InstancePart {
        var places: Set<OpenedLibraries.Place> = []
    }

    /// A launch that is being looked at; at most one for each app.
    @LoopActor
    private final class Lesson {
        let subject: LibraryLesson
        let instance: Instance
        let atPause: Set<OpenedLibraries.Place>
        var pause = LibraryLearner.firstLook
        var seen: [MappedFiles.Mapping] = []
        var timer: EventSource?

        init(
            _ subject: LibraryLesson, _ instance: Instance, atPause: Set<OpenedLibraries.Place>
        ) {
            self.subject = subject
            self.instance = instance
            self.atPause = atPause
        }
    }
    private var lessons: [AppIdentifier: Lesson] = [:]

    /// What was learned of an app; at most as many lists as the core remembers.
    private var lists: [AppIdentifier: [LibraryList]] = [:]
    private static let listLimit = 3
    private let files: LearnedFiles
    private lazy var writes = DelayedWrites<AppIdentifier>(
        after: LearnedFiles.timesDelay, accuracy: .seconds(10)
    ) { [unowned self] in keep($0) }
    /// The users of apps whose libraries are learned.
    private var users: [AppIdentifier: UInt32] = [:]

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, calls: DetachedCalls,
        files: LearnedFiles
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.calls = calls
        self.files = files
    }

    /// The libraries that a prewarm opens before its pause.
    func libraries(for subject: LibraryLesson) -> [String] {
        guard let index = lists[subject.app]?.firstIndex(where: { $0.subject == subject }) else {
            return []
        }
        if lists[subject.app]![index].isRecalled {
            lists[subject.app]![index].keep(where: isCurrent)
        }
        return lists[subject.app]![index].libraries.map(\.path)
    }

    /// The libraries that are left out although launches open them.
    func dropped(for subject: LibraryLesson) -> [LibraryList.Dropped] {
        lists[subject.app]?.first { $0.subject == subject }?.dropped ?? []
    }

    /// Whether the path leads to the file that was opened, and nobody but root and the daemon's own
    /// user can lead it elsewhere.
    private func isCurrent(_ library: LibraryList.Library) -> Bool {
        owners.objection(to: library.path) == nil
            && FileIdentity(path: library.path) == library.file
    }

    // MARK: What is kept

    /// Reads what was learned before this daemon began. Whether the files are still the same is
    /// checked when they are to be opened, and a launch is looked at again.
    func recall(_ app: InstalledApp) {
        guard app.program.depth.opensLibraries else { return }
        users[app.identifier] = app.account.user
        guard lists[app.identifier] == nil,
            let lines = files.lines(.libraries, of: app.identifier, app.account.user)
        else { return }
        let found = LibraryList.read(lines, of: app.identifier)
            .filter { $0.subject.generation == app.description.generation }
            .suffix(Self.listLimit)
        lists[app.identifier] = Array(found)
        for list in found {
            core.handle(
                .librariesRecalled(
                    list.subject, count: list.libraries.count, dropCount: list.dropped.count,
                    isComplete: false))
        }
        if let times = DepthTimes(lines), !found.isEmpty {
            core.handle(.timesRecalled(app.identifier, times))
        }
    }

    private func keep(_ app: AppIdentifier) {
        guard let lists = lists[app], !lists.isEmpty, let user = users[app] else { return }
        let times = core.lifecycle.depthTimes(of: app)?.lines ?? []
        files.write(lists.flatMap(\.lines) + times, .libraries, of: app, user)
        writes.drop(app)
    }

    /// Writes at once the times that have not been written yet.
    func write() { writes.writeAll() }

    func note(_ occurrence: Occurrence) {
        switch occurrence {
        case .depthTimed(let app): writes.ask(app)
        case .libraryDropped(_, let subject, let index, let fault):
            let place = lists[subject.app]?.firstIndex { $0.subject == subject }
            guard let place else { return }
            lists[subject.app]![place].drop(at: index, fault)
            keep(subject.app)
        case .demoted(let instance, let app, _, .libraries, _, let isEverywhere):
            let key = core.lifecycle.instance(instance)?.environmentKey
            lists[app]?.removeAll { isEverywhere || $0.subject.environmentKey == key }
            forgetIfEmpty(app)
        case _: break
        }
    }

    /// A client has reset the app: the libraries that were left out get another chance.
    func forgive(_ app: AppIdentifier) {
        guard let own = lists[app] else { return }
        lists[app] = own.map(\.forgiven).filter { !$0.libraries.isEmpty }
        forgetIfEmpty(app)
    }

    private func forgetIfEmpty(_ app: AppIdentifier) {
        guard lists[app]?.isEmpty == true else { return keep(app) }
        if let user = users[app] { files.remove(.libraries, of: app, user) }
    }

    /// The app is not installed any more.
    func remove(_ app: AppIdentifier, wasInstalled: Bool) {
        if let user = users.removeValue(forKey: app) {
            files.remove(.libraries, of: app, user)
        } else if !wasInstalled {
            files.removeAll(.libraries, of: app)
        }
        lists[app] = nil
    }

    /// The instance is paused and has these files mapped.
    func notePause(of instance: Instance, _ mapped: [MappedFiles.Mapping]) {
        guard core.lifecycle.learnsLibraries(from: instance.identifier) else { return }
        instances.part(Pause.self, of: instance.identifier)?.places = Set(
            mapped.lazy.map(OpenedLibraries.Place.init))
    }

    // MARK: Looking

    /// The instance was launched.
    func begin(_ identifier: InstanceIdentifier, _ subject: LibraryLesson) {
        guard lessons[subject.app] == nil, let instance = instances[identifier],
            let pause = instances.known(Pause.self, of: identifier), !pause.places.isEmpty
        else { return }
        let lesson = Lesson(subject, instance, atPause: pause.places)
        lesson.timer = try? LoopActor.timer { [unowned self] in look(for: subject) }
        lessons[subject.app] = lesson
        schedule(lesson)
    }

    private func schedule(_ lesson: Lesson) {
        guard (try? lesson.timer?.setDeadline(after: lesson.pause)) != nil else {
            return end(lesson, isComplete: false)
        }
    }

    private func look(for subject: LibraryLesson) {
        guard let lesson = lessons[subject.app] else { return }
        let instance = lesson.instance
        guard instance.isAlive, let app = catalog[subject.app] else {
            return end(lesson, isComplete: false)
        }
        let job = DetachedJob([
            .read("/proc/\(instance.pid)/maps", limit: MappedFiles.byteLimit),
            .read("/proc/\(instance.pid)/stat", limit: Self.statByteLimit),
        ])
        calls.make(job, for: subject.app, of: app.account.user) { [unowned self] job in
            let state = job?.bytes(1)
                .flatMap { ProcessTable.Entry(stat: String(decoding: $0, as: UTF8.self)) }
            looked(
                lesson, app, job?.bytes(0).map(MappedFiles.parse),
                isAtRest: state?.isAtRest == true)
        }
    }

    private func looked(
        _ lesson: Lesson, _ app: InstalledApp, _ mapped: [MappedFiles.Mapping]?, isAtRest: Bool
    ) {
        // The process is still alive, so its number has meant this process all the time. It may
        // have executed another program.
        guard let mapped, lesson.instance.isAlive,
            mapped.contains(where: { $0.path == app.program.pausedPath })
        else { return end(lesson, isComplete: false) }
        let isAsBefore =
            Set(mapped.map(OpenedLibraries.Place.init))
            == Set(lesson.seen.map(OpenedLibraries.Place.init))
        lesson.seen = mapped
        guard lesson.pause < Self.lastLook else {
            return end(lesson, isComplete: isAtRest && isAsBefore)
        }
        lesson.pause *= 2
        schedule(lesson)
    }

    private func end(_ lesson: Lesson, isComplete: Bool) {
        let subject = lesson.subject
        lessons[subject.app] = nil
        let known = libraries(for: subject)
        var own = lists[subject.app] ?? []
        let chosen = OpenedLibraries.choose(
            from: lesson.seen, atPause: lesson.atPause, known: known)
        let dropped = dropped(for: subject)
        let others = chosen.dropFirst(known.count).filter { path in
            !dropped.contains { $0.path == path }
        }
        let paths = known + trusted(others, lesson.seen)
        if !paths.isEmpty {
            own.removeAll { $0.subject == subject }
            own.append(LibraryList(subject, paths, dropped: dropped))
            lists[subject.app] = own.suffix(Self.listLimit)
            keep(subject.app)
        }
        core.handle(.librariesLearned(subject, count: paths.count, isComplete: isComplete))
    }

    /// The paths that still lead to the files that were mapped, and that nobody but root and the
    /// daemon's own user can lead elsewhere. So this looks at nothing that might not answer.
    private func trusted(
        _ paths: some Sequence<String>, _ mapped: [MappedFiles.Mapping]
    ) -> [String] {
        paths.filter { path in
            owners.objection(to: path) == nil
                && mapped.first { $0.path == path }?.isCurrent(FileIdentity(path: path)) == true
        }
    }
}
