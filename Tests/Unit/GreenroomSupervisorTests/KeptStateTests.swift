import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Restoration`, between files and the channel of an app.

@Suite struct `The state that an app has saved` {
    @LoopActor
    private struct Room {
        let ground: Ground
        let states: KeptStates
        let files: StateFiles
        let app: InstalledApp
        let instance: Instance
        private let channel: UnixSocket

        init() throws {
            ground = try Ground()
            ground.core.begin(performing: ground.recorder)
            let text = "[App]\nType=application-kit\nExec=/bin/true\nStateVersion=2\n"
            app = try #require(try ground.load(["a.b": text]).apps.first)
            let catalog = AppCatalog()
            _ = catalog.replace(with: [app], former: [])
            ground.core.handle(.appInstalled(app.description))
            ground.launch("a.b")
            let identifier = try #require(ground.recorder.spawned.first)
            channel = try ground.begin("a.b", as: identifier)
            instance = try #require(ground.instances[identifier])
            let path = ground.folder.path + "/state"
            files = StateFiles(stateDirectory: path)
            states = KeptStates(
                core: ground.core, catalog: catalog, instances: ground.instances,
                messenger: AppMessenger(
                    instances: ground.instances, reporter: try ground.reporter()),
                log: ground.log, stateDirectory: path)
            ground.recorder.respond = { [states] in
                if case .refuseState(let instance, let scene, let refusal) = $0 {
                    states.refuse(refusal, instance, scene)
                }
            }
        }

        func state(of user: UInt32) -> SavedState {
            var archive = AppArchive()
            archive.add("line", "17")
            return SavedState(
                archive, appVersion: "", stateVersion: "2", savedAt: 1, user: user)
        }

        func received() throws -> [AppEvent] {
            try messages(on: channel).map { message in
                guard case .event(let event) = message else { throw TestError("no event") }
                return event
            }
        }
    }

    @Test func `is handed over, unless its file is another user's or gone`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let room = try Room()
                let identifier = room.app.identifier
                let own = room.state(of: getuid())
                @LoopActor func handedOver() throws -> SavedState? {
                    room.states.handOver(.application, to: room.instance.identifier, isThere: true)
                    guard case .restoreState(let state, session: nil, _)? = try room.received().last
                    else { throw TestError("nothing was handed over") }
                    return state
                }
                try room.files.keep(own, of: identifier, .application)
                room.states.report(on: room.app)
                #expect(try handedOver() == own)
                // The app had another user when it saved this.
                try room.files.keep(
                    room.state(of: getuid() + 1), of: identifier, .application)
                #expect(try handedOver() == nil)
                room.states.report(on: room.app)
                #expect(room.files.archive(of: identifier, .application) == nil)
                try room.files.keep(own, of: identifier, .application)
                room.states.delete(identifier, .application)
                #expect(try handedOver() == nil)
            }
        }
    }

    @Test func `is refused with a reason when the core wants none`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let room = try Room()
                let save = StateReport.save(room.state(of: getuid()).archive)
                // Nobody has told the app to leave the foreground.
                room.states.received(save, session: nil, 5, from: room.instance)
                // It has no scene of that session.
                room.states.received(save, session: "s", 6, from: room.instance)
                let answers = try room.received().compactMap { event -> UInt64? in
                    guard case .answer(let cookie, .refused(_, let reason)) = event else {
                        return nil
                    }
                    return reason.isEmpty ? nil : cookie
                }
                #expect(answers == [5, 6])
                #expect(room.files.archive(of: room.app.identifier, .application) == nil)
            }
        }
    }
}
