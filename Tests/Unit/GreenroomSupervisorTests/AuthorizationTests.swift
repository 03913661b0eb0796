import Glibc
import GreenroomControl
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

private func peer(_ user: uid_t, groups: [gid_t] = []) -> Peer {
    Peer(pid: getpid(), user: user, groups: [user] + groups)
}

@Suite struct `A client's rights` {
    private static let access = Access(
        daemonUser: 900, observers: [10], controllers: [11], administrators: [12])

    /// What each client may do with its own apps, with those of others and with the daemon.
    @Test(
        arguments: [
            (1000, [], Access.Verb.control, nil, nil), (1000, [10], .control, .observe, .observe),
            (1000, [11], .control, .control, .control),
            (1000, [12], .administer, .administer, .administer),
            (0, [], .administer, .administer, .administer),
            (900, [], .administer, .administer, .administer),
        ] as [(uid_t, [gid_t], Access.Verb, Access.Verb?, Access.Verb?)])
    func `follow from its user and its groups`(
        user: uid_t, groups: [gid_t], own: Access.Verb, others: Access.Verb?,
        daemon: Access.Verb?
    ) {
        let client = peer(user, groups: groups)
        func highest(_ owner: uid_t?) -> Access.Verb? {
            [Access.Verb.observe, .control, .administer]
                .last { Self.access.allows(client, to: $0, owner: owner) }
        }
        #expect(highest(user) == own)
        #expect(highest(2000) == others)
        #expect(highest(nil) == daemon)
        #expect(Self.access.isTrusted(client) == [0, 900].contains(user))
    }

    @Test func `to hear of events end at its own apps, unless it may observe all`() {
        guard case .user(1000) = Self.access.audience(of: peer(1000)) else {
            return #expect(Bool(false))
        }
        guard case .all = Self.access.audience(of: peer(1000, groups: [10])) else {
            return #expect(Bool(false))
        }
    }
}

@Suite struct `An app that a client may not see` {
    @LoopActor
    private struct NoTemplates: TemplateInstances {
        func instantiate(
            _ identifier: String, _ mayBe: (Account) throws(ControlError) -> Bool
        ) throws(ControlError) -> InstalledApp? { nil }
    }

    @Test(.enabled(if: getuid() == 0, "only root runs apps of others"))
    func `does not exist for it, nor do its instances and launches`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                ground.core.begin(performing: ground.recorder)
                let catalog = AppCatalog()
                let manifests = [
                    "a.secret": "[App]\nExec=/bin/true\nUser=nobody\n",
                    "a.open": "[App]\nExec=/bin/true\nUser=daemon\n",
                ]
                _ = catalog.replace(with: try ground.load(manifests).apps, former: [])
                ground.launch("a.secret")
                let authorization = Authorization(
                    core: ground.core, catalog: catalog, templates: NoTemplates(),
                    settings: ControlSettings(
                        access: Access(daemonUser: 0, observers: [10]),
                        limits: ControlListener.ConnectionLimits(DaemonConfiguration())))
                let owner = try #require(catalog[AppIdentifier("a.secret")]).account.user
                let (stranger, observer) = (peer(4242), peer(4242, groups: [10]))
                @LoopActor func refusal(_ body: () throws(ControlError) -> Void) -> ControlError? {
                    do { try body() } catch { return error }
                    return nil
                }
                @LoopActor func found(_ name: String, _ peer: Peer) -> ControlError? {
                    refusal { () throws(ControlError) in
                        _ = try authorization.find(name, .control, peer)
                    }
                }
                // The answer is the same for an app that nobody has, and names no app.
                #expect(found("a.secret", stranger) == .noSuchApp("a.secret", suggestion: nil))
                #expect(found("a.secre", stranger) == .noSuchApp("a.secre", suggestion: nil))
                #expect(found("a.secre", peer(0)) == .noSuchApp("a.secre", suggestion: "a.secret"))
                #expect(found("a.secret", peer(owner)) == nil)
                guard case .permissionDenied? = found("a.secret", observer) else {
                    throw TestError("\(String(describing: found("a.secret", observer)))")
                }

                let instance = ground.recorder.spawned[0]
                @LoopActor func reached(_ number: UInt64, _ peer: Peer) -> ControlError? {
                    refusal { () throws(ControlError) in
                        try authorization.require(.observe, of: .instance(number), peer)
                    }
                }
                #expect(
                    reached(instance.rawValue, stranger)
                        == .notRunning(.instance(instance.rawValue)))
                #expect(reached(99, stranger) == .notRunning(.instance(99)))
                #expect(reached(instance.rawValue, observer) == nil)
                let name = LaunchIdentifier("1")
                #expect(authorization.instance(of: name, for: stranger) == nil)
                #expect(authorization.instance(of: name, for: peer(owner)) == instance)
            }
        }
    }
}
