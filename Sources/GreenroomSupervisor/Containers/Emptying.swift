internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Empties folders of apps: temporary files when an app has ended or the daemon begins, caches when
/// somebody asks. A tree may be large, and its owner alone may always remove it: find(1) does it, as the
/// app's user, in a process of its own. Only what is older than the order goes, so that the next launch
/// need not wait.
///
/// These processes have numbers of their own, which the core does not know.
@LoopActor
final class Emptying {
    private let core: Core
    private let catalog: AppCatalog
    private let containers: Containers
    private let spawner: CurrentSpawner
    /// The daemon is about to end: what would start a process is left to the next one.
    private var isOver = false
    private var next = Emptying.firstNumber
    /// Folders that are being emptied, and their processes.
    private var running: [UInt64: String] = [:]

    /// Above every instance's, and below what a record can have.
    private static let firstNumber: UInt64 = 1 << 61
    private static let program = "/usr/bin/find"
    static func isOwn(_ number: UInt64) -> Bool { number >= firstNumber }

    /// Another spawner: nothing of ours runs.
    func forget() { running = [:] }

    init(core: Core, catalog: AppCatalog, containers: Containers, spawner: CurrentSpawner) {
        self.core = core
        self.catalog = catalog
        self.containers = containers
        self.spawner = spawner
        next += MonotonicClock.nanoseconds & 0xffff_ffff
    }

    /// Nothing is emptied any more.
    func end() { isOver = true }

    /// Empties the app's folder for temporary files once nothing runs that was launched. A paused instance
    /// has made none.
    func emptyTemporaryFiles(of app: AppIdentifier) {
        guard !isOver, let installed = catalog[app], installed.hasContainer,
            core.lifecycle.instances(of: app).allSatisfy({
                $0.state == .notRunning || $0.state == .prewarming || $0.state == .prewarmed
            })
        else { return }
        empty(containers.temporaryFolder(of: app.rawValue), of: installed)
    }

    /// Everything in the folder that was there before now.
    private func empty(_ folder: String, of app: InstalledApp) {
        guard spawner.isThere, !running.values.contains(folder),
            !FolderContents.isEmpty(folder)
        else { return }
        // Younger files are the next launch's, so one microsecond before now.
        let now = WallClock.stampMicroseconds - 1
        let (seconds, fraction) = (now / 1_000_000, now % 1_000_000 + 1_000_000)
        let arguments = [
            Self.program, folder, "-xdev", "-mindepth", "1", "!", "-newerct",
            "@\(seconds).\("\(fraction)".dropFirst())", "-delete",
        ]
        guard let words = StringBlock(arguments), let environment = StringBlock(["LANG=C"]) else {
            return
        }
        next += 1
        var specification = SpawnSpecification(
            instance: next, app: app.identifier.rawValue, path: Self.program, arguments: words,
            environment: environment)
        specification.workingDirectory = "/"
        if app.changesUser {
            specification.identity = .init(
                user: app.account.user, group: app.account.group, supplementaryGroups: [])
        }
        running[next] = folder
        if !spawner.send(specification) { running[next] = nil }
    }

    /// True if the spawner's news are about a process of ours.
    func take(_ message: SpawnerMessage) -> Bool {
        switch message {
        case .spawned(let record): return Self.isOwn(record.instance)
        case .exited(let number, _), .failed(let number, _): return Self.isOwn(number)
        case .spawnFailed(let number, _), .emptied(let number):
            guard Self.isOwn(number) else { return false }
            running[number] = nil
            spawner.send(.release(instance: number))
            return true
        case .welcome, .instance, .kept, .ending, .stopped, .unguarded, .misfired, .cannotGuard,
            .executedSecurely:
            return false
        }
    }
}
