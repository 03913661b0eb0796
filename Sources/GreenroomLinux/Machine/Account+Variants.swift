public import Glibc

extension Account {
    /// Makes an account for a user whom the system's database does not list, as in a container.
    public init(unlisted user: uid_t, group: gid_t) {
        self.init(name: "\(user)", user: user, group: group, home: "/", shell: "/bin/sh")
    }

    /// The same user with another primary group.
    public func with(group: gid_t) -> Account {
        Account(name: name, user: user, group: group, home: home, shell: shell)
    }
}
