import GreenroomAppChannel
import GreenroomControl
import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

struct AnswerWordTests {
    private static let app = AppIdentifier("notes")

    @Test func `an answer makes its reply`() {
        #expect(ControlReply(.accepted) == .done)
        #expect(ControlReply(.prepared(Self.app, isReady: true)) == .prepared(isReady: true))
        #expect(
            ControlReply(.done(InstanceIdentifier(7), .suspended))
                == .changed(Control.Changed(instance: 7, state: .suspended)))
    }

    @Test func `an app whose request is refused gets a sentence as the reason`() throws {
        guard case .refused(_, let reason) = Refusal.noScenes(Self.app).answerToApp else {
            return #expect(Bool(false))
        }
        #expect(reason == "notes has no scenes; its manifest says Scenes=no")
    }

    @Test(arguments: [
        Refusal.noSuchApp(app), .backOff(app, until: Instant(nanoseconds: 0)), .shuttingDown,
        .singleScene(app),
        .forceQuit(app), .tooManyScenes(app, limit: 16), .failed(app, .startLimit),
        .dependencyFailed(app, on: AppIdentifier("base"), .shuttingDown),
    ])
    func `no reason is the text of a value`(refusal: Refusal) {
        #expect(refusal.words.contains(" "))
        #expect(!refusal.words.contains("\(refusal)"))
        #expect(!refusal.words.contains("AppIdentifier"))
    }
}
