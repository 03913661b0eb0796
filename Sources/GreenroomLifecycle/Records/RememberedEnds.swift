/// The instances that have ended and are remembered: their launches' names, and how they ended.
///
/// Users share the room. Beyond the limit the oldest end of the user with the most is forgotten, so
/// nobody can make the daemon forget what others launched. A launch that is repeated after its end
/// was forgotten is launched twice.
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

    /// Removes the end that is to be forgotten first. It is the latest of all only if there is no
    /// other.
    mutating func popFirst() -> InstanceIdentifier? {
        let most = ends.max { one, other in
            (one.value.count, other.value[0].number) < (other.value.count, one.value[0].number)
        }
        guard let user = most?.key, let end = ends[user]?.removeFirst() else { return nil }
        if ends[user]?.isEmpty == true { ends[user] = nil }
        count -= 1
        return end.instance
    }

    /// The same ends, after the users of apps have become known.
    func regrouped(by user: (InstanceIdentifier) -> UInt32) -> RememberedEnds {
        var regrouped = self
        let all = ends.values.joined().sorted { $0.number < $1.number }
        regrouped.ends = Dictionary(grouping: all) { user($0.instance) }
        return regrouped
    }
}
