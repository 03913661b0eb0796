import GreenroomLifecycle

extension Simulation {
    /// Requires= and After= name only apps with lower numbers, because circles are refused when
    /// manifests are loaded.
    static func varySupervision(
        _ app: inout AppDescription, _ number: Int, among count: Int, _ dice: inout Dice
    ) {
        func name(_ number: Int) -> AppIdentifier { AppIdentifier("org.example.app\(number)") }
        app.supervision = Boxed(dice.percent(50) ? supervision(&dice) : nil)
        let atBoot = dice.percent(50)
        app.autostart = Boxed(
            dice.percent(20)
                ? Autostart(atBoot: atBoot, atLogin: !atBoot, loginGroup: "seat\(dice.below(2))")
                : nil
        )
        app.hasSockets = dice.percent(30)
        // A separate generator, so that the worlds of known seeds do not change.
        var quitting = Dice(seed: app.generation, thing: UInt64(number) << 8 | 3)
        app.forceQuitLasts = [nil, nil, true, false][quitting.below(4)]
        guard count > 1, dice.percent(30) else {
            app.dependencies = .none
            return
        }
        var dependencies = Dependencies()
        if number > 0, dice.percent(60) { dependencies.requires = [name(dice.below(number))] }
        if number > 0, dice.percent(60) { dependencies.after = [name(dice.below(number))] }
        let other = dice.below(count)
        if other != number, dice.percent(30), !dependencies.requires.contains(name(other)) {
            dependencies.conflicts = [name(other)]
        }
        app.dependencies = .some(dependencies)
    }

    private static func supervision(_ dice: inout Dice) -> Supervision {
        let policies: [RestartPolicy] = [.never, .onFailure, .onAbnormal, .always]
        return Supervision(
            restart: policies[dice.below(4)], restartDelay: dice.milliseconds(0...3000),
            maximumDelay: dice.percent(50) ? .seconds(1 + dice.below(60)) : nil,
            startLimitBurst: dice.below(7), startLimitInterval: .seconds(dice.below(90)),
            success: ExitStatusSet(statuses: dice.percent(20) ? [1] : []),
            preventing: ExitStatusSet(statuses: dice.percent(20) ? [2] : []))
    }
}
