import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

/// The meaning of numbers that another program knows only as numbers.
@Suite struct `A number that travels` {
    @Test func `to the spawner tells an instance from other processes`() {
        let known: [(UInt64, SpawnNumber)] = [
            (1, .instance(InstanceIdentifier(1))),
            (1 << 60 - 1, .instance(InstanceIdentifier(1 << 60 - 1))),
            (1 << 60 + 1, .watch(InstanceIdentifier(1))),
            (1 << 61, .cleaning(0)), (1 << 61 + 7, .cleaning(7)),
        ]
        for (number, subject) in known {
            #expect(SpawnNumber(number) == subject)
            #expect(subject.rawValue == number)
        }
    }

    @Test func `to an app tells a step from a launch and from what nobody waits for`() {
        let known: [(UInt64, AppCookie)] = [
            (1, .step(1)), (1 << 63 - 1, .step(1 << 63 - 1)), (1 << 63, .free(0)),
            (1 << 63 + 9, .free(9)), (.max, .launch),
        ]
        for (number, cookie) in known {
            #expect(AppCookie(number) == cookie)
            #expect(cookie.rawValue == number)
        }
    }
}
