internal import GreenroomLinux
internal import Systemd

extension RepeatedLook {
    /// At most this many processes of one instance are looked at.
    private static let processLimit = 64

    /// Finds out when an instance listens on a socket that it has made itself. The kernel tells
    /// nobody of a listen(2) (unlike an exit or a write), so this looks into /proc: at once, after
    /// 2 ms, then after twice as long each time, up to a quarter of a second, and never beyond the
    /// launch deadline. Each look reads the instance's descriptors and its namespace's tables of
    /// sockets.
    ///
    /// - Parameter onLook: called after each look; true ends the looking.
    static func forListening(
        of instance: Instance, onLook: @escaping (_ isListening: Bool) -> Bool
    ) -> RepeatedLook {
        RepeatedLook(pauses: .milliseconds(2) ... .milliseconds(250), accuracy: .milliseconds(1)) {
            [unowned instance] in
            let members = (try? instance.cgroup?.processes()) ?? [instance.pid]
            return onLook(ListeningProcess.isAmong(Array(members.prefix(processLimit))))
        }
    }
}
