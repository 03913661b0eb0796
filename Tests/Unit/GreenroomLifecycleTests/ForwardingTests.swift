import GreenroomLifecycle
import Testing

/// Programs whose second process passes its launch on to the first one and ends (GApplication,
/// KDBusService).
@Suite struct `A program that passes its launch on` {
    private func stage(isSingle: Bool = false) -> Stage {
        Stage(
            .plain {
                $0.foregroundGroup = "seat"
                $0.isSingleInstance = isSingle
            })
    }

    @Test func `brings the running instance to the front when its own process has ended`() {
        var stage = stage()
        let first = stage.run()
        let second = stage.run()
        #expect(stage.state(first) == .background)
        stage.die(second)
        #expect(stage.state(first) == .active)
    }

    /// The second process waits for an answer of the running instance before it ends.
    @Test(arguments: [false, true])
    func `finds the running instance thawed`(isAttached: Bool) {
        var stage = stage()
        let first = stage.run()
        stage.ask(.suspend, first)
        stage.send(.frozen(first))
        let second = stage.run(isAttached: isAttached)
        #expect(stage.state(first) == .background)
        stage.die(second)
        #expect(stage.state(first) == (isAttached ? .background : .active))
    }

    @Test func `thaws none of several instances, because nobody knows which one answers`() {
        var stage = stage()
        let both = [stage.run(), stage.run()]
        for id in both {
            stage.ask(.suspend, id)
            stage.send(.frozen(id))
        }
        _ = stage.run()
        #expect(both.allSatisfy { stage.state($0) == .suspended })
    }

    @Test func `leaves the first in the background if it fails, ends late or was launched there`() {
        for change in [
            { (stage: inout Stage) in
                let second = stage.run()
                stage.die(second, .exited(1))
            },
            { (stage: inout Stage) in
                let second = stage.run()
                stage.wait(.seconds(31))
                stage.die(second)
            },
            { (stage: inout Stage) in
                let second = stage.run(inBackground: true)
                stage.die(second)
            },
        ] {
            var stage = stage()
            let first = stage.run()
            stage.ask(.background, first)
            change(&stage)
            #expect(stage.state(first) == .background)
        }
    }

    private func ask(
        _ stage: inout Stage, _ joining: LaunchRequest.Joining
    ) -> InstanceIdentifier {
        let next = stage.core.nextInstance
        let request = stage.request()
        stage.send(
            .requested(
                request,
                .launch(
                    LaunchRequest(
                        app: Stage.app, launchIdentifier: LaunchIdentifier("\(request.rawValue)"),
                        environmentKey: Stage.key, joining: joining))))
        return next
    }

    @Test func `is started again for files, although the app may have only one instance`() {
        var stage = stage(isSingle: true)
        let first = stage.run()
        let second = ask(&stage, .none)
        #expect(stage.core.instance(second)?.state == .launching)
        stage.send(.spawned(second))
        stage.die(second)
        #expect(stage.state(first) == .active)
    }

    @Test func `is not started for an event while it runs, although the app may have several`() {
        var stage = stage()
        let first = stage.run()
        let next = ask(&stage, .anyInstance)
        #expect(stage.core.instance(next) == nil)
        #expect(stage.outcomes.map(\.instance) == [first])
    }
}
