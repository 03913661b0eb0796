internal import GreenroomLifecycle
internal import GreenroomLinux

/// The pool environments that launches have asked for, so that the pool can be refilled for the one
/// that is in use. Each one that is forgotten costs one cold launch.
///
/// An environment that one user brought is never found for another user, nor for another app, nor
/// for the same app once it has rights that its user lacks: an environment can name code (ld.so(8),
/// LD_PRELOAD). Two environments are compared in full. Only environments that were forgotten, or
/// that instances of a former supervisor are paused with, are known by their key alone, which
/// nobody can choose (`KeyedDigest`).
struct PoolEnvironments {
    /// The user and the app whose processes get an environment.
    struct Owner: Hashable, Sendable {
        var user: UInt32
        var app: AppIdentifier
        /// True if the manifest gives the app rights that its user lacks.
        var hasOwnRights: Bool
    }

    /// At most this many environments of one user are kept. A user has only a handful (terminal,
    /// session, cron). The least recently used one is forgotten first.
    static let limitPerUser = 64
    /// At most this many bytes of one user's environments are kept, far more than any session has.
    /// execve(2) takes 128 KiB for one variable, and a client may bring 16 MiB.
    static let byteLimitPerUser = 1 << 20

    private struct Entry {
        let owner: Owner
        let key: EnvironmentKey
        let environment: PoolEnvironment
    }

    /// By user; the environments asked for latest are last.
    private var known: [UInt32: [Entry]] = [:]
    private let makeKey: (PoolEnvironment, Owner) -> EnvironmentKey

    init(digest: KeyedDigest) { self.init { digest.key(of: $0, $1) } }

    /// - Parameter makeKey: makes the key of an environment. If two environments get the same key,
    ///   one of them gets another key instead.
    init(makeKey: @escaping (PoolEnvironment, Owner) -> EnvironmentKey) { self.makeKey = makeKey }

    /// Remembers the environment of a launch, and returns its key; nil if no instance can be paused
    /// with this environment, for example because it names libraries by paths relative to the
    /// caller's directory.
    ///
    /// - Parameter own: the environment that instances get if their caller brings none, and its
    ///   key.
    mutating func key(
        for environment: PoolEnvironment, _ owner: Owner,
        own: (environment: PoolEnvironment, key: EnvironmentKey)
    ) -> EnvironmentKey? {
        if environment == own.environment { return own.key }
        // Most launches are like the one before.
        if let latest = known[owner.user]?.last, latest.owner == owner,
            latest.environment == environment
        {
            return latest.key
        }
        var entries = known[owner.user] ?? []
        let same = entries.firstIndex { $0.owner == owner && $0.environment == environment }
        if let same {
            entries.append(entries.remove(at: same))
        } else {
            guard ExecutableInspection.objection(to: environment.variables) == nil else {
                return nil
            }
            var key = makeKey(environment, owner)
            while key == own.key || entries.contains(where: { $0.key == key && $0.owner == owner })
            {
                key = EnvironmentKey(key.rawValue &+ 1)
            }
            entries.append(Entry(owner: owner, key: key, environment: environment))
        }
        let key = entries.last!.key
        var byteCount = entries.reduce(0) { $0 + $1.environment.byteCount }
        while entries.count > Self.limitPerUser || byteCount > Self.byteLimitPerUser {
            byteCount -= entries.removeFirst().environment.byteCount
        }
        known[owner.user] = entries
        return key
    }

    /// The key that the environment has if a launch has asked for it before.
    func knownKey(for environment: PoolEnvironment, _ owner: Owner) -> EnvironmentKey? {
        known[owner.user]?.first { $0.owner == owner && $0.environment == environment }?.key
    }

    subscript(key: EnvironmentKey, owner: Owner) -> PoolEnvironment? {
        known[owner.user]?.first { $0.key == key && $0.owner == owner }?.environment
    }
}

extension KeyedDigest {
    /// The key is the same for every supervisor that has the secret.
    func key(of environment: PoolEnvironment, _ owner: PoolEnvironments.Owner) -> EnvironmentKey {
        let words = ["\(owner.user)", owner.app.rawValue, "\(owner.hasOwnRights)"]
        return EnvironmentKey(digest(of: words + environment.variables))
    }
}
