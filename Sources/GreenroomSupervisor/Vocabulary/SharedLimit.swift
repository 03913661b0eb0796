internal import Glibc

/// A limit on something that is shared by users who cannot know of each other; one person may have
/// several users (subuid(5)). As with instances (`GreenroomLifecycle`), an eighth is kept for root
/// and the daemon's own user, and of the rest no user may have more than is still free. So the
/// first user gets half, the second half of what is left, and whoever comes last finds some.
struct SharedLimit {
    /// The limit that one more would exceed.
    enum Excess: Equatable {
        case all(limit: Int)
        case ofUser(limit: Int)
    }

    let all: Int

    init(_ all: Int) { self.all = all }

    private var shared: Int { all - all / 8 }

    static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

    /// Why a user who has `own` of the `taken` may not have another; nil if the user may.
    func excess(of user: UInt32, own: Int, taken: Int) -> Excess? {
        let isTrusted = Self.isTrusted(user)
        let limit = isTrusted ? all : shared
        let free = limit - taken
        if free <= 0 { return .all(limit: limit) }
        return isTrusted || own == 0 || own < free ? nil : .ofUser(limit: own)
    }
}
