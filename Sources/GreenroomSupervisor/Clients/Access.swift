internal import Glibc
internal import GreenroomLinux

/// The process that connected, as reported by the kernel (unix(7)).
struct Peer: Sendable {
    let pid: pid_t
    let user: uid_t
    /// The primary group and the supplementary groups.
    let groups: [gid_t]
}

extension Peer {
    init(_ socket: UnixSocket) throws(SystemError) {
        let credentials = try socket.peerCredentials()
        self.init(
            pid: credentials.pid, user: credentials.user,
            groups: [credentials.group] + socket.peerGroups())
    }
}

/// Decides what each client may do, by the credentials that the kernel reports when the client
/// connects.
///
/// | verb | own apps | another user's apps |
/// |---|---|---|
/// | observe (list, status, explain, watch, wait) | yes | a group of `ObserveGroups=` and those below |
/// | control (launch, prewarm, states, signals) | yes | a group of `ControlGroups=` and those below |
/// | administer (reload) | the daemon's user | a group of `AdministerGroups=` |
///
/// root and the daemon's own user may do everything.
struct Access: Sendable {
    enum Verb: Comparable, Sendable {
        case observe
        case control
        case administer

        /// The setting that grants the verb, as error messages name it.
        var setting: String {
            switch self {
            case .observe: "ObserveGroups="
            case .control: "ControlGroups="
            case .administer: "AdministerGroups="
            }
        }
    }

    let daemonUser: uid_t
    var observers: Set<gid_t> = []
    var controllers: Set<gid_t> = []
    var administrators: Set<gid_t> = []

    func isTrusted(_ peer: Peer) -> Bool { peer.user == 0 || peer.user == daemonUser }

    /// - Parameter owner: the user of the app; nil where the verb is about the whole daemon.
    func allows(_ peer: Peer, to verb: Verb, owner: uid_t?) -> Bool {
        if isTrusted(peer) || (owner == peer.user && verb < .administer) { return true }
        return peer.groups.contains { group in
            administrators.contains(group) || (verb <= .control && controllers.contains(group))
                || (verb == .observe && observers.contains(group))
        }
    }

    /// The users whose events the client may see.
    func audience(of peer: Peer) -> EventRing.Audience {
        allows(peer, to: .observe, owner: nil) ? .all : .user(peer.user)
    }

    /// What a refused client would need, in the words of the error message.
    func needed(for verb: Verb, owner: String?) -> String {
        let whom = owner.map { "user \($0) or " } ?? ""
        return "\(whom)root, or membership in a group of \(verb.setting) in greenroom.conf"
    }
}
