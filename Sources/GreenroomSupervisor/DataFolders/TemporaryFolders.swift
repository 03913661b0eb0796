internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Empties the apps' folders for temporary files, when an app has ended or the daemon starts. A
/// tree may be large, and only its owner can always remove it, so find(1) does that as the app's
/// user, in a process of its own. find(1) removes only files that are older than the order, so that
/// the next launch need not wait.
///
/// These processes have numbers of their own (`SpawnNumber`), which the core does not know.
@LoopActor
final class TemporaryFolders {
    private let core: Core
    private let catalog: AppCatalog
    private let dataFolders: DataFolders
    private let spawner: CurrentSpawner
    /// True if the daemon is about to end. In that case the next daemon empties the folders.
    private var isOver = false
    private var numbers = FreshNumbers()
    /// The folders that are being emptied, by the number of the process.
    private var running: [UInt64: String] = [:]

    private static let program = "/usr/bin/find"

    /// Called when there is another spawner, which runs none of our processes.
    func forget() { running = [:] }

    init(core: Core, catalog: AppCatalog, dataFolders: DataFolders, spawner: CurrentSpawner) {
        self.core = core
        self.catalog = catalog
        self.dataFolders = dataFolders
        self.spawner = spawner
    }

    /// Empties no folder from now on.
    func end() { isOver = true }

    /// Empties the app's folder for temporary files, unless a launched instance of the app is
    /// running. A paused instance has made no files.
    func emptyFolder(of app: AppIdentifier) {
        guard !isOver, let installed = catalog[app], installed.hasContainer,
            core.lifecycle.instances(of: app).allSatisfy({
                $0.state == .notRunning || $0.state == .prewarming || $0.state == .prewarmed
            })
        else { return }
        empty(dataFolders.temporaryFolder(of: app.rawValue), of: installed)
    }

    /// Removes everything from the folder that is older than this call.
    private func empty(_ folder: String, of app: InstalledApp) {
        guard spawner.isThere, !running.values.contains(folder),
            !FolderContents.isEmpty(folder)
        else { return }
        // One microsecond before now, because newer files may be those of the next launch.
        let now = WallClock.stampMicroseconds - 1
        let (seconds, fraction) = (now / 1_000_000, now % 1_000_000 + 1_000_000)
        let arguments = [
            Self.program, folder, "-xdev", "-mindepth", "1", "!", "-newerct",
            "@\(seconds).\("\(fraction)".dropFirst())", "-delete",
        ]
        guard let words = StringBlock(arguments), let environment = StringBlock(["LANG=C"]) else {
            return
        }
        let number = numbers.next()
        var specification = SpawnSpecification(
            instance: SpawnNumber.cleaning(number).rawValue, app: app.identifier.rawValue,
            path: Self.program, arguments: words, environment: environment)
        specification.workingDirectory = "/"
        if app.identity.changesUser {
            specification.identity = .init(
                user: app.account.user, group: app.account.group, supplementaryGroups: [])
        }
        running[number] = folder
        if !spawner.send(specification) { running[number] = nil }
    }

    /// The spawner reports on the process with this number.
    func received(_ message: SpawnerMessage, about number: UInt64) {
        switch message {
        case .spawnFailed, .emptied:
            running[number] = nil
            spawner.send(.release(instance: SpawnNumber.cleaning(number).rawValue))
        case .welcome, .instance, .spawned, .exited, .failed, .kept, .ending, .stopped, .unguarded,
            .misfired, .cannotGuard, .executedSecurely, .listening, .cannotListen:
            break
        }
    }
}
