internal import Glibc

/// A limit on something that users share who cannot know of each other, and of whom one person may be several
/// (subuid(5)), as with instances (`GreenroomLifecycle`): an eighth is root's and the daemon's own user's, and of
/// the rest nobody has more than is free. So the first gets half, the second half of what is left, and whoever
/// comes last finds some.
struct SharedLimit {
    /// What one more would exceed.
    enum Excess: Equatable {
        case all(limit: Int)
        case ofUser(limit: Int)
    }

    let all: Int

    init(_ all: Int) { self.all = all }

    private var shared: Int { all - all / 8 }

    static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

    /// Why a user who has `own` of the `taken` may not have another; nil: the user may.
    func excess(of user: UInt32, own: Int, taken: Int) -> Excess? {
        let isTrusted = Self.isTrusted(user)
        let limit = isTrusted ? all : shared
        let free = limit - taken
        if free <= 0 { return .all(limit: limit) }
        return isTrusted || own == 0 || own < free ? nil : .ofUser(limit: own)
    }
}
