/// The instances that have ended and are remembered. Their records tell the names of their launches
/// and how they ended.
///
/// All users share one limit. Beyond it, the user with the most ends loses the oldest one, so
/// nobody can make the daemon forget what others launched. If a client repeats a launch whose end
/// was forgotten, the app is launched twice.
struct RememberedEnds: Hashable, Sendable {
    private struct End: Hashable {
        let number: UInt64
        let instance: InstanceIdentifier
    }

    /// By user, the oldest first.
    private var ends: [UInt32: [End]] = [:]
    private var latest: UInt64 = 0
    private(set) var count = 0

    mutating func append(_ instance: InstanceIdentifier, of user: UInt32) {
        latest += 1
        count += 1
        ends[user, default: []].append(End(number: latest, instance: instance))
    }

    /// Removes the end that is to be forgotten first. The latest end of all is removed only if
    /// there is no other.
    mutating func popFirst() -> InstanceIdentifier? {
        let most = ends.max { one, other in
            (one.value.count, other.value[0].number) < (other.value.count, one.value[0].number)
        }
        guard let user = most?.key, let end = ends[user]?.removeFirst() else { return nil }
        if ends[user]?.isEmpty == true { ends[user] = nil }
        count -= 1
        return end.instance
    }

    /// The same ends, grouped again once the users of apps are known.
    func regrouped(by user: (InstanceIdentifier) -> UInt32) -> RememberedEnds {
        var regrouped = self
        let all = ends.values.joined().sorted { $0.number < $1.number }
        regrouped.ends = Dictionary(grouping: all) { user($0.instance) }
        return regrouped
    }
}
