import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The file greenroom conf` {
    @Test func `may be missing unless it was named, and a fault never means the defaults`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let path = ground.folder.path + "/greenroom.conf"
                let file = ConfigurationFile(path: path, isRequired: false)
                let named = ConfigurationFile(path: path, isRequired: true)
                #expect(try file.read(ground.log) == DaemonConfiguration())
                #expect(throws: SystemError.self) { try named.read(ground.log) }

                try ground.folder.write(
                    "[Greenroom]\nInstanceLimit=7\nNoSuchKey=1\n", to: "greenroom.conf")
                #expect(try named.read(ground.log).instanceLimit == 7)

                try ground.folder.write(
                    "[Greenroom]\nInstanceLimit=many\nTaskIdleSec=never\n", to: "greenroom.conf")
                #expect(throws: ConfigurationFile.Faulty.self) { try file.read(ground.log) }
                let (settings, faults) = file.readAgain(ground.log)
                #expect(settings == nil && faults.map(\.line) == [2, 3])
                // Whoever may write the file decides who may launch other users' apps.
                chmod(path, 0o666)
                #expect(throws: SystemError.self) { try file.read(ground.log) }
            }
        }
    }
}

@Suite struct `What the daemon does without` {
    @Test func `is told once for each reason, and forgotten with the spawner`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let degradations = Degradations(log: try Ground().log)
                degradations.note(.init(code: "no_spawner", text: "one"))
                degradations.note(.init(code: "no_cgroups", text: "two"))
                degradations.note(.init(code: "no_spawner", text: "three"))
                #expect(degradations.notes.map(\.text) == ["two", "three"])
                degradations.forget()
                #expect(degradations.notes.isEmpty)
            }
        }
    }
}
