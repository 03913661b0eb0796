import GreenroomLifecycle
import GreenroomSimulator
import Testing

@Suite struct `Random worlds` {
    /// The same worlds each time; `make simulate` tries others.
    @Test(arguments: [1, 1_000_000, 2_000_000, 3_000_000] as [UInt64])
    func `keep every invariant for fifty thousand events`(seed: UInt64) {
        var campaign = Campaign()
        let failure = campaign.run(events: 50_000, seed: seed)
        #expect(failure == nil, "seed \(seed): \(failure.map { "\($0)" } ?? "")")
        #expect(campaign.eventCount >= 50_000)
    }

    @Test func `cover every launch kind, reason, demotion and run outcome`() {
        var campaign = Campaign()
        _ = campaign.run(events: 400_000, seed: 42)
        let kinds: [LaunchKind] = [.cold, .prewarmed, .resume, .foreground, .startedAnew]
        for kind in kinds { #expect(campaign.tally.launches[kind] ?? 0 > 0, "\(kind)") }
        for reason in ColdReason.allCases {
            #expect(campaign.tally.coldReasons[reason] ?? 0 > 0, "\(reason)")
        }
        for reason in AnewReason.allCases {
            #expect(campaign.tally.anewReasons[reason] ?? 0 > 0, "\(reason)")
        }
        // By chance, hardly any app is done as soon without a learned list as with it three times, or
        // shows no window twice in a row, so DepthTimesTests and HeldWindowTests test that. A library
        // that cannot be opened never ends a depth.
        let rare: Set<DepthFault> = [.savesNothing, .noWindow, .cannotBeOpened]
        for fault in DepthFault.allCases where !rare.contains(fault) {
            #expect(campaign.tally.demotions[fault] ?? 0 > 0, "\(fault)")
        }
        for reason in ExitReason.allCases {
            #expect(campaign.tally.exits[reason] ?? 0 > 0, "\(reason)")
        }
        for outcome in RunOutcome.allCases {
            #expect(campaign.tally.runOutcomes[outcome] ?? 0 > 0, "\(outcome)")
        }
        #expect(campaign.tally.libraryPrewarms > 0)
        #expect(campaign.tally.droppedLibraries > 0)
        #expect(campaign.tally.windowPrewarms > 0)
        #expect(campaign.tally.unheldForBytes > 0)
        #expect(campaign.tally.unwelcomeHeld > 0)
        #expect(campaign.tally.ageless > 0)
        #expect(campaign.tally.unmetEncounters == [])
        #expect(campaign.tally.hintedAirings > 0)
        #expect(campaign.tally.timings > 0)
        #expect(campaign.tally.calledLaunches > 0)
        #expect(campaign.tally.restarts > 0)
        #expect(campaign.tally.appRestarts > 0)
        #expect(campaign.tally.failures > 0)
    }

    @Test func `give the same results from the same seed`() {
        var (first, second) = (Campaign(), Campaign())
        _ = first.run(events: 5_000, seed: 7)
        _ = second.run(events: 5_000, seed: 7)
        #expect(first.eventCount == second.eventCount)
        #expect(first.tally.exits == second.tally.exits)
    }
}
