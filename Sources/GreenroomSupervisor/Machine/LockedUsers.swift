internal import Glibc
internal import GreenroomLinux

/// The users whose login sessions are locked, kept for the next supervisor: user numbers in a file
/// of the runtime directory, which does not outlive the boot.
struct LockedUsers {
    private let path: String

    init(runtimeDirectory: String) { path = runtimeDirectory + "/locked" }

    var users: Set<UInt32> {
        let text = (try? SmallFile.text(of: path)) ?? ""
        return Set(text.split(separator: "\n").compactMap { UInt32($0) })
    }

    func note(_ user: UInt32, isLocked: Bool) throws(SystemError) {
        var users = users
        let isNew = isLocked ? users.insert(user).inserted : users.remove(user) != nil
        guard isNew else { return }
        let text = users.sorted().map { "\($0)\n" }.joined()
        try SmallFile.replace(path, with: text, mode: 0o600)
    }
}
