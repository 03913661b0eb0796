import GreenroomLifecycle
import Testing

/// What follows from what shells say about the foreground.
@Suite struct `A report of the foreground` {
    private static let user: UInt32 = 7
    private static let one = AppIdentifier("org.example.one")
    private static let two = AppIdentifier("org.example.two")
    private static let shell = ShellIdentifier(1)

    /// Two apps without a foreground group, as desktop entries make them.
    private func stage(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        Stage(Self.described(Self.one, change), Self.described(Self.two, change))
    }

    private static func described(
        _ app: AppIdentifier, _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        .plain(app) {
            $0.user = user
            $0.suspendsInBackground = true
            change(&$0)
        }
    }

    private func report(
        _ stage: inout Stage, _ front: Target?, by shell: ShellIdentifier = shell,
        user: UInt32 = user
    ) {
        stage.send(.foregroundReported(shell, ForegroundReport(user: user, front: front)))
    }

    private func report(_ stage: inout Stage, _ id: InstanceIdentifier) {
        report(&stage, .instance(id))
    }

    @Test func `moves what it names to the front, and what it named before to the background`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        report(&stage, second)
        #expect(stage.state(first) == .background && stage.state(second) == .active)
        report(&stage, nil)
        #expect(stage.state(first) == .background && stage.state(second) == .background)
        report(&stage, first)
        #expect(stage.state(first) == .active && stage.state(second) == .background)
    }

    @Test func `leaves alone what no shell has named`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        report(&stage, nil)
        #expect(stage.state(first) == .background && stage.state(second) == .active)
    }

    @Test func `has what is behind suspended, and thawed when the user returns to it`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        report(&stage, second)
        stage.wait(.seconds(60))
        #expect(stage.state(first) == .suspended)
        report(&stage, first)
        #expect(stage.has(.thaw(first)))
        #expect(stage.state(first) == .active)
    }

    @Test func `protects what is in front from a launch in its group, and from reclaiming`() {
        var stage = stage { $0.foregroundGroup = "seat" }
        let first = stage.run(Self.one)
        report(&stage, first)
        let second = stage.run(Self.two)
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        #expect(stage.core.foreground(of: "seat") == [first, second])
        stage.send(.pressureChanged(.critical))
        stage.wait(.seconds(60))
        #expect(stage.state(first) == .active)
        report(&stage, second)
        #expect(stage.state(second) == .active)
        #expect(stage.core.foreground(of: "seat") == [second])
    }

    @Test func `names all instances of an app that it names alone`() {
        var stage = stage()
        let (first, other, second) = (
            stage.run(Self.one), stage.run(Self.one), stage.run(Self.two)
        )
        report(&stage, second)
        report(&stage, .app(Self.one))
        #expect(stage.state(first) == .active && stage.state(other) == .active)
        #expect(stage.state(second) == .background)
        report(&stage, second)
        #expect(stage.state(first) == .background && stage.state(other) == .background)
    }

    @Test func `is about the apps of its own user alone`() {
        var stage = stage()
        let first = stage.run(Self.one)
        report(&stage, first)
        report(&stage, nil, by: ShellIdentifier(2), user: 8)
        #expect(stage.state(first) == .active)
        stage.ask(.background, first)
        report(&stage, .instance(first), by: ShellIdentifier(2), user: 8)
        #expect(stage.state(first) == .background)
    }

    @Test func `displaces no app of another user in a group that users share`() {
        var stage = Stage(
            Self.described(Self.one) { $0.foregroundGroup = "seat" },
            Self.described(Self.two) {
                $0.foregroundGroup = "seat"
                $0.user = 8
            })
        let first = stage.run(Self.one)
        let second = stage.run(Self.two)
        #expect(stage.state(first) == .background && stage.state(second) == .active)
        report(&stage, first)
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        report(&stage, .app(Self.one))
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        // An instance of another user does not displace an instance that a shell names, either.
        stage.ask(.foreground, second)
        #expect(stage.state(first) == .active && stage.state(second) == .active)
    }

    @Test func `counts beside those of other shells`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        report(&stage, .instance(second), by: ShellIdentifier(2))
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        report(&stage, nil)
        #expect(stage.state(first) == .background && stage.state(second) == .active)
    }

    @Test func `brings what is being launched to the front when it is ready`() {
        var stage = stage { $0.readyCondition = .notify }
        let id = stage.run(Self.one, inBackground: true)
        report(&stage, id)
        stage.send(.becameReady(id))
        #expect(stage.state(id) == .active)
    }

    @Test func `leaves in the background what it has left before that was ready`() {
        var stage = stage { $0.readyCondition = .notify }
        let (id, other) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, id)
        report(&stage, other)
        stage.send(.becameReady(id))
        #expect(stage.state(id) == .background)
    }

    @Test func `counts after a restart for what was being launched, while its app is the user's`() {
        for isOwn in [true, false] {
            let one = Self.described(Self.one) {
                $0.foregroundGroup = "seat"
                $0.readyCondition = .notify
            }
            let two = Self.described(Self.two) {
                $0.foregroundGroup = "seat"
                $0.user = 8
            }
            var changed = one
            changed.user = isOwn ? Self.user : 8
            var stage = Stage(one, two)
            let (id, other) = (stage.run(Self.one), stage.run(Self.two))
            report(&stage, id)
            stage.restart(changed, two)
            stage.send(.becameReady(id))
            #expect(stage.state(other) == (isOwn ? .active : .background))
        }
    }

    @Test func `still counts after a request that is refused`() {
        var stage = stage { $0.readyCondition = .notify }
        let (id, other) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, id)
        stage.ask(.suspend, id)
        #expect(stage.refusals.count == 1)
        report(&stage, other)
        stage.send(.becameReady(id))
        #expect(stage.state(id) == .background)
    }

    @Test func `counts for what is being launched when its app comes to belong to the user`() {
        var one = Self.described(Self.one) {
            $0.foregroundGroup = "seat"
            $0.readyCondition = .notify
            $0.user = 8
        }
        let two = Self.described(Self.two) {
            $0.foregroundGroup = "seat"
            $0.user = 8
        }
        var stage = Stage(one, two)
        let (id, other) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, id)
        one.user = Self.user
        stage.send(.appInstalled(one))
        stage.restart(one, two)
        stage.send(.becameReady(id))
        #expect(stage.state(other) == .active)
    }

    @Test func `names nothing that has ended or never was, and moves no attached one`() {
        var stage = stage()
        stage.launch(Self.one, isAttached: true)
        let attached = InstanceIdentifier(1)
        stage.send(.spawned(attached))
        let ended = stage.run(Self.two)
        stage.die(ended)
        for id in [attached, ended, InstanceIdentifier(99)] {
            report(&stage, id)
            #expect(!stage.effects.contains { if case .report = $0 { true } else { false } })
        }
        report(&stage, nil)
        #expect(stage.state(attached) == .active)
    }

    @Test func `yields to a client who sends the app to the background`() {
        var stage = stage()
        let first = stage.run(Self.one)
        report(&stage, first)
        stage.ask(.background, first)
        #expect(stage.state(first) == .background)
        #expect(stage.core.instance(first)?.shellUser == nil)
        report(&stage, first)
        #expect(stage.state(first) == .active)
    }

    // MARK: The shell's end

    @Test func `that ends with its shell moves nothing, and nothing stays in front for ever`() {
        var stage = stage { $0.foregroundGroup = "seat" }
        let first = stage.run(Self.one)
        report(&stage, first)
        stage.send(.foregroundReported(Self.shell, nil))
        #expect(stage.effects.isEmpty)
        let second = stage.run(Self.two)
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        stage.wait(.seconds(60))
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        // The rule of the group holds, as without a shell.
        let third = stage.run(Self.two)
        #expect(stage.state(first) == .background && stage.state(second) == .background)
        #expect(stage.state(third) == .active)
    }

    @Test func `of the next shell sends away what the former one had in front`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        stage.send(.foregroundReported(Self.shell, nil))
        report(&stage, .instance(second), by: ShellIdentifier(2))
        #expect(stage.state(first) == .background && stage.state(second) == .active)
    }

    @Test func `leaves nothing frozen behind when no shell comes back`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        report(&stage, second)
        stage.wait(.seconds(60))
        #expect(stage.state(first) == .suspended)
        stage.send(.foregroundReported(Self.shell, nil))
        stage.wait(.seconds(9))
        #expect(stage.state(first) == .suspended)
        stage.wait(.seconds(2))
        #expect(stage.state(first) == .active && stage.state(second) == .active)
        // The next shell takes up where the former one ended.
        report(&stage, second)
        #expect(stage.state(first) == .background)
    }

    @Test func `of a shell that is back in time keeps what is behind where it is`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        report(&stage, second)
        stage.send(.foregroundReported(Self.shell, nil))
        stage.wait(.seconds(3))
        report(&stage, .instance(second), by: ShellIdentifier(2))
        stage.wait(.seconds(60))
        #expect(stage.state(first) == .suspended && stage.state(second) == .active)
    }

    @Test func `is forgotten by a restart, and whom it was about is not`() {
        var stage = stage()
        let (first, second) = (stage.run(Self.one), stage.run(Self.two))
        report(&stage, first)
        report(&stage, second)
        stage.restart(Self.described(Self.one), Self.described(Self.two))
        #expect(stage.state(first) == .background && stage.state(second) == .active)
        report(&stage, .instance(first), by: ShellIdentifier(5))
        #expect(stage.state(first) == .active && stage.state(second) == .background)
        // No shell comes after the next restart.
        stage.restart(Self.described(Self.one), Self.described(Self.two))
        stage.wait(.seconds(11))
        #expect(stage.state(first) == .active && stage.state(second) == .active)
    }

    @Test func `moves an app that acknowledges its states by telling it`() {
        var stage = Stage(
            .application {
                $0.user = Self.user
                $0.foregroundGroup = nil
            }, Self.described(Self.two))
        let app = stage.activate(Stage.app)
        let second = stage.run(Self.two)
        report(&stage, app)
        #expect(stage.told.isEmpty)
        report(&stage, second)
        #expect(stage.told == [.willResignActive])
        stage.acknowledge(app)
        stage.acknowledge(app)
        #expect(stage.state(app) == .background)
        report(&stage, app)
        #expect(stage.told == [.willEnterForeground])
    }
}
