import GreenroomManifest
import Testing

@testable import GreenroomCommands

/// What a measurement concludes, and how it shows times.
@Suite struct MeasureTests {
    private func contender(
        _ depth: AppManifest.Depth?, milliseconds: [UInt64], output: String = "same",
        status: Int32 = 0, misses: Int = 0
    ) -> Contender {
        var contender = Contender(depth?.rawValue ?? "direct", app: nil, depth: depth)
        contender.samples = milliseconds.map {
            Sample(
                firstOutput: $0 * 1_000_000, goal: $0 * 1_000_000, output: Array(output.utf8),
                exit: .status(status))
        }
        contender.missCount = misses
        return contender
    }

    private func choice(
        direct: [UInt64] = [100, 100, 100], _ others: Contender...
    ) -> MeasureVerdict.Choice {
        MeasureVerdict(direct: contender(nil, milliseconds: direct), others).choice
    }

    @Test func `the depth with the shortest time is chosen`() {
        #expect(choice(contender(.main, milliseconds: [50, 50, 50])) == .depth(.main))
    }

    @Test(arguments: [
        (100 as UInt64, 91 as UInt64, true), (100, 96, false), (20, 19, false), (8, 7, true),
        (200, 195, true),
    ])
    func `a depth must save a tenth of the time or 5 ms`(
        direct: UInt64, prewarmed: UInt64, pays: Bool
    ) {
        let result = choice(
            direct: [direct, direct, direct],
            contender(.main, milliseconds: [prewarmed, prewarmed, prewarmed]))
        #expect(result == (pays ? .depth(.main) : .none))
    }

    @Test func `a depth at which the program prints or ends otherwise is not chosen`() {
        #expect(choice(contender(.main, milliseconds: [1, 1, 1], output: "other")) == .none)
        #expect(choice(contender(.main, milliseconds: [1, 1, 1], status: 1)) == .none)
    }

    @Test func `a program that never prints the same is not compared`() {
        var direct = contender(nil, milliseconds: [100, 100, 100])
        direct.samples[1].output = [1]
        let other = contender(.main, milliseconds: [1, 1, 1], output: "other")
        #expect(MeasureVerdict(direct: direct, [other]).choice == .depth(.main))
    }

    @Test func `launches that were not prewarmed speak against a depth`() {
        #expect(choice(contender(.main, milliseconds: [1, 1, 1], misses: 1)) == .none)
    }

    @Test func `quantiles are values that were measured`() {
        let values: [UInt64] = [5, 1, 4, 2, 3]
        #expect(values.median == 3)
        #expect(values.quantile(0) == 1)
        #expect(values.quantile(1) == 5)
        #expect(values.quantile(0.9) == 5)
        #expect([UInt64]().median == nil)
        #expect([UInt64](arrayLiteral: 7).median == 7)
    }

    @Test func `a curve is dark where most values are`() {
        let values: [UInt64] = [100, 100, 100, 800]
        let line = Histogram(of: values, width: 10).line(values)
        #expect(line.count == 10)
        #expect(line.first == "█" && line.last == "▂" && line.filter { $0 != " " }.count == 2)
    }

    // MARK: Windows

    private func trial(
        _ kind: ScreenKind, held: UInt64 = 10_000_000, misses: Int = 0, faults: [String] = []
    ) -> WindowTrial {
        var window = WindowTrial.Way(depth: .window, times: [held, held, held])
        (window.launchCount, window.missCount) = (3 + misses, misses)
        return WindowTrial(
            kind: kind,
            ways: [.init(depth: .none, times: [200_000_000, 200_000_000, 200_000_000]), window],
            effects: SideEffects(), faults: faults)
    }

    @Test(arguments: [
        ("0100007F:1F90", "127.0.0.1:8080"), ("00000000:0000", "0.0.0.0:0"),
        ("B80D0120000000000000000001000000:0007", "[2001:db8::1]:7"), ("0100007F", "0100007F"),
        ("0100007F0100007F:0007", "0100007F0100007F:0007"), ("x:y", "x:y"),
    ])
    func `the kernel's addresses are shown as people write them`(text: Substring, shown: String) {
        #expect(NetworkUse.address(text) == shown)
    }

    @Test func `a program is held only if each launch showed the held window`() {
        let verdict = WindowVerdict([trial(.x11, misses: 1)], command: ["/usr/bin/editor"])
        #expect(verdict.refusals == ["1 of 4 launches were not served by the held window"])
    }

    /// What is said of a program that has passed on these screens.
    private func verdict(
        on kinds: [ScreenKind], _ profile: String...
    ) throws -> WindowVerdict {
        let profiles = try profile.map {
            try #require(Profile.parse(Array("[Profile]\n\($0)\n".utf8), file: "a.conf").profile)
        }
        return WindowVerdict(
            kinds.map { trial($0) }, command: ["/usr/bin/editor"], profiles: profiles)
    }

    @Test func `a program is held on Wayland only if it has passed there`() throws {
        let lines = try verdict(on: [.x11]).lines
        #expect(lines.contains("Display=x11"))
        let profile = try #require(
            Profile.parse(Array(lines.joined(separator: "\n").utf8), file: "a.conf").profile)
        #expect(profile.window == .yes && profile.display == .x11)
        let both = try verdict(on: [.x11, .wayland])
        #expect(both.display == .any && !both.lines.contains { $0.hasPrefix("Display=") })
        // No profile excludes X11.
        let wayland = try verdict(on: [.wayland])
        #expect(wayland.refusals == [] && wayland.lines == [])
        #expect(wayland.sentence.contains("it was not measured on X11"), "\(wayland.sentence)")
    }

    @Test func `what an installed profile excludes stays excluded`() throws {
        let screens = [ScreenKind.x11, .wayland]
        let program = "Program=/usr/bin/editor"
        let limited = try verdict(
            on: screens, "\(program)\nWindow=yes\nDisplay=x11\nTested=editor 1: x11")
        #expect(limited.lines.contains("Display=x11") && limited.display == .x11)
        let forbidden = try verdict(on: screens, "\(program)\nWindow=no")
        #expect(forbidden.lines == [] && forbidden.objection == "a.conf has Window=no")
        let former = try verdict(on: [.x11]).lines.dropFirst().joined(separator: "\n")
        #expect(try verdict(on: screens, former).display == .any)
    }

    private func windowVerdict(_ command: [String]) -> WindowVerdict {
        WindowVerdict([trial(.x11)], command: command)
    }

    @Test func `a program is held only if nothing speaks against it on any screen`() {
        let editor = ["/usr/bin/editor"]
        let allowed = WindowVerdict(
            [trial(.x11), trial(.wayland, held: 20_000_000)], command: editor)
        #expect(allowed.refusals == [])
        #expect(allowed.lines.last == "Tested=greenroomctl measure --windows: x11, wayland")
        #expect(
            allowed.sentence.contains(
                "after 10.0 ms instead of 200.0 ms on X11, and after 20.0 ms instead of 200.0 ms on Wayland"
            ), "\(allowed.sentence)")
        let other = WindowVerdict(
            [trial(.x11, faults: ["it sings"]), trial(.wayland, faults: ["it sings", "it hums"])],
            command: editor)
        #expect(other.refusals == ["it sings", "on Wayland, it hums"])
        #expect(other.lines == [])
        let late = WindowVerdict(
            [trial(.x11), trial(.wayland, held: 300_000_000)], command: editor)
        #expect(late.refusals == ["on Wayland, it does not appear sooner"])
    }

    @Test func `a program whose files cannot all be looked at is refused`() {
        let trial = WindowTrial(
            kind: .x11, ways: trial(.x11).ways, effects: SideEffects(areFilesComplete: false),
            faults: [])
        #expect(trial.refusals == ["its home has more files than can be looked at"])
    }

    @Test func `a profile names the program's path, which may have blanks`() throws {
        let verdict = windowVerdict(["/opt/my 50% editor"])
        #expect(verdict.refusals == [])
        let text = verdict.lines.joined(separator: "\n") + "\n"
        let profile = try #require(Profile.parse(Array(text.utf8), file: "a.conf").profile)
        #expect(profile.programs == ["/opt/my 50% editor"])
    }

    @Test func `there is no profile for a program with arguments`() {
        let verdict = windowVerdict(["/usr/bin/editor", "--viewer"])
        #expect(verdict.refusals == [])
        #expect(verdict.lines == [])
        #expect(verdict.sentence.contains("it has arguments, so no profile applies to it"))
    }
}
