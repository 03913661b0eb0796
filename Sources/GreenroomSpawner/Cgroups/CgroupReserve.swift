internal import Glibc
public import GreenroomLinux

/// Cgroups that were made before anybody asked, one for each app that was last launched cold: making
/// one takes as long as a tenth of such a launch.
///
/// They bear the app's name like the others, but no instance's number; that is written on them as a
/// label when one is taken. Whoever looks for an instance's cgroup uses ``InstanceCgroup``.
struct CgroupReserve {
    /// Of apps; each costs the kernel a cgroup.
    private static let limit = 8

    private struct Spare {
        let app: String
        let name: String
        let cgroup: Cgroup
    }

    /// The app that was launched last comes last.
    private var spares: [Spare] = []
    /// Launched, without a spare.
    private var wanted: String?
    private var serial: UInt64 = 0
    /// The kernel has no labels for cgroups.
    private var isImpossible = false

    /// The names that are nobody's litter.
    var names: [String] { spares.map(\.name) }

    /// One for this instance, if there is one; another is made when there is time.
    mutating func take(
        app: String, instance: UInt64
    ) -> (cgroup: Cgroup, name: String)? {
        if isImpossible { return nil }
        wanted = app
        guard let index = spares.lastIndex(where: { $0.app == app }) else { return nil }
        let spare = spares.remove(at: index)
        // Before anything runs in it: we may be killed at any time.
        guard (try? spare.cgroup.label(Subtree.name(app: app, instance: instance))) != nil else {
            return nil
        }
        return (spare.cgroup, spare.name)
    }

    /// Makes the one that was taken last anew. Call it when nobody waits.
    ///
    /// - Returns: the name of one that has to make room for it, and is to be removed.
    mutating func refill(in base: Cgroup) -> String? {
        guard let app = wanted else { return nil }
        wanted = nil
        serial += 1
        let name = Self.name(app: app, serial: serial)
        guard let cgroup = try? base.createLabelledChild(name) else { return nil }
        guard (try? cgroup.label("")) != nil else {
            isImpossible = true
            return name
        }
        spares.append(Spare(app: app, name: name, cgroup: cgroup))
        return spares.count > Self.limit ? spares.removeFirst().name : nil
    }

    /// - Returns: the names of those that there were.
    mutating func empty() -> [String] {
        defer { spares = [] }
        return names
    }

    /// Another spawner's may be there still.
    private static func name(app: String, serial: UInt64) -> String {
        "\(start(app))\(getpid()).\(serial)"
    }

    /// What no instance's own name begins with: a number follows the dash there.
    static func start(_ app: String) -> String { Subtree.name(app: app) + "-r" }
}

/// The cgroup of an instance: named after it, or labelled.
public enum InstanceCgroup {
    /// What the names of an app's cgroups are up to their last dash.
    public static func name(ofApp app: String) -> String { Subtree.name(app: app) }

    /// Finds it among those below `base`; as a rule nobody needs to look, for the spawner says it.
    public static func find(
        app: String, instance: UInt64, in base: Cgroup
    ) -> (cgroup: Cgroup, name: String)? {
        let wanted = Subtree.name(app: app, instance: instance)
        if let cgroup = try? base.child(wanted) { return (cgroup, wanted) }
        let start = CgroupReserve.start(app)
        for name in (try? base.children()) ?? [] where name.hasPrefix(start) {
            if let cgroup = try? base.child(name), cgroup.label == wanted {
                return (cgroup, name)
            }
        }
        return nil
    }

    /// The name after the instance of one that is called `name`.
    static func fullName(of cgroup: Cgroup, _ name: String) -> String {
        guard let dash = name.lastIndex(of: "-"), name[dash...].hasPrefix("-r"),
            let label = cgroup.label, !label.isEmpty
        else { return name }
        return label
    }
}
