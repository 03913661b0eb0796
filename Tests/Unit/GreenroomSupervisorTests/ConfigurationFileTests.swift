import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import GreenroomPolicy
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The file greenroom conf` {
    @Test func `may be missing unless it was named, and a fault leaves the last good settings`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let path = ground.folder.path + "/greenroom.conf"
                let kept = ground.folder.path + "/kept"
                let file = ConfigurationFile(path: path, isRequired: false, folder: kept)
                let named = ConfigurationFile(path: path, isRequired: true, folder: kept)
                #expect(try file.read(ground.log).0 == DaemonConfiguration())
                #expect(throws: SystemError.self) { try named.read(ground.log) }

                try ground.folder.write(
                    "[Greenroom]\nInstanceLimit=7\nNoSuchKey=1\n", to: "greenroom.conf")
                #expect(try named.read(ground.log).0.policy.instanceLimit == 7)

                try ground.folder.write(
                    "[Greenroom]\nInstanceLimit=many\nTaskIdleSec=never\n", to: "greenroom.conf")
                let (started, note) = try file.read(ground.log)
                #expect(started.policy.instanceLimit == 7 && note?.code == "bad_configuration")
                let (settings, faults, said) = file.readAgain(ground.log)
                #expect(settings == nil && faults.map(\.line) == [2, 3])
                #expect(said?.code == "bad_configuration")
                // Something that is not a file is not waited for, and stops nobody.
                let places: [(String, () -> Int32)] = [
                    ("pipe", { mkfifo(path, 0o600) }), ("directory", { mkdir(path, 0o700) }),
                    ("device", { symlink("/dev/zero", path) }),
                ]
                for (word, make) in places {
                    _ = remove(path)
                    #expect(make() == 0)
                    let (started, note) = try named.read(ground.log)
                    #expect(started.policy.instanceLimit == 7)
                    #expect(note?.text.contains(word) == true, "\(note?.text ?? "")")
                }
                _ = remove(path)
                try ground.folder.write("[Greenroom]\n", to: "greenroom.conf")
                // Whoever may write the file decides who may launch other users' apps.
                chmod(path, 0o666)
                #expect(throws: SystemError.self) { try file.read(ground.log) }
            }
        }
    }
}

@Suite struct `What the daemon does without` {
    @Test func `is noted once for each code, and with the spawner its notes go`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let degradations = Degradations(log: try Ground().log)
                degradations.note(.init(code: "no_spawner", text: "one"))
                degradations.note(.init(code: "no_cgroups", text: "two"))
                degradations.note(.init(code: "no_spawner", text: "three"))
                #expect(degradations.notes.map(\.text) == ["two", "three"])
                degradations.forgetSpawners()
                #expect(degradations.notes.isEmpty)
            }
        }
    }
}
