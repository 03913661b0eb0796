import Glibc
import GreenroomAppChannel
import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The credentials of an instance` {
    private static let manifest = """
        [App]
        Exec=/bin/true
        SetCredential=token:one
        LoadCredential=key:/no/such/file
        SetCredential=key:default
        """

    @Test func `are files that only the app's user can read, until the instance is gone`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let app = try #require(try ground.load(["a.b": Self.manifest]).apps.first)
                let directories = CredentialDirectories(
                    instances: ground.instances, runtimeDirectory: ground.folder.path)
                let (kept, gone) = (InstanceIdentifier(1), InstanceIdentifier(2))
                for instance in [kept, gone] {
                    try directories.make(try CredentialSet(of: app), for: instance, of: app)
                }
                let path = directories.path(of: kept)
                #expect(try SmallFile.text(of: path + "/token") == "one")
                // The file does not exist, so the value in the manifest counts.
                #expect(try SmallFile.text(of: path + "/key") == "default")
                @LoopActor func mode(_ path: String) -> mode_t {
                    var status = stat()
                    return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
                }
                #expect(mode(path) == 0o500 && mode(path + "/token") == 0o400)
                #expect(
                    directories.environment(
                        [.text("CREDENTIALS_DIRECTORY=/of/the/caller"), .text("A=b")], of: kept)
                        == [.text("A=b"), .text("CREDENTIALS_DIRECTORY=" + path)])

                // The next supervisor knows only one of the instances.
                let next = CredentialDirectories(
                    instances: ground.instances, runtimeDirectory: ground.folder.path)
                next.removeAll { $0 == kept }
                #expect(next.has(kept) && !next.has(gone))
            }
        }
    }

    @Test func `are not handed over if they are larger than the app may be given`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let large = String(repeating: "x", count: CredentialFile.valueByteLimit)
                try ground.folder.write(large, to: "large")
                let path = ground.folder.path + "/large"
                let exact = "[App]\nExec=/bin/true\nLoadCredential=a:\(path)\n"
                let apps = try ground.load([
                    "a.exact": exact, "a.more": exact + "SetCredential=b:y\n",
                ]).apps
                let fits = try #require(apps.first { $0.identifier.rawValue == "a.exact" })
                #expect(try CredentialSet(of: fits).all.map(\.value.count) == [large.utf8.count])
                let exceeds = try #require(apps.first { $0.identifier.rawValue == "a.more" })
                let error = #expect(throws: SystemError.self) { try CredentialSet(of: exceeds) }
                #expect(error?.code == EFBIG)
            }
        }
    }
}

@Suite struct `A user's lock` {
    @Test func `is known to the next supervisor, until the user unlocks`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let first = try Ground()
                let users = LockedUsers(runtimeDirectory: first.folder.path)
                @LoopActor func room(_ ground: Ground) throws -> UserLocks {
                    ground.core.begin(performing: ground.recorder)
                    let handover = CredentialHandover(
                        core: ground.core, catalog: AppCatalog(), instances: ground.instances,
                        directories: CredentialDirectories(
                            instances: ground.instances, runtimeDirectory: ground.folder.path),
                        messenger: AppMessenger(
                            instances: ground.instances, reporter: try ground.reporter()),
                        log: ground.log)
                    return UserLocks(
                        core: ground.core, users: users, handover: handover,
                        planning: ground.history().planning, log: ground.log)
                }
                let locks = try room(first)
                locks.note(1000, isLocked: true)
                locks.note(1001, isLocked: true)
                #expect(first.core.lifecycle.lockedUsers == [1000, 1001])
                let second = try Ground()
                _ = try room(second)
                #expect(second.core.lifecycle.lockedUsers == [1000, 1001])
                locks.note(1000, isLocked: false)
                let third = try Ground()
                _ = try room(third)
                #expect(third.core.lifecycle.lockedUsers == [1001])
            }
        }
    }
}
