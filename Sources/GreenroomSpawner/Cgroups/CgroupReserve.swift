internal import Glibc
public import GreenroomLinux

/// Cgroups that are made in advance, one for each app that was recently launched cold. Making
/// one takes a tenth of the time of such a launch.
///
/// They are named after the app like other cgroups, but without an instance's number. When one is
/// taken, the number is written on it as a label. To find an instance's cgroup, use
/// ``InstanceCgroup``.
struct CgroupReserve {
    /// At most this many apps; each costs the kernel a cgroup.
    private static let limit = 8

    private struct Spare {
        let app: String
        let name: String
        let cgroup: Cgroup
    }

    /// In the order of launches, the most recent last.
    private var spares: [Spare] = []
    /// The app that was launched last and has no spare.
    private var wanted: String?
    private var serial: UInt64 = 0
    /// Whether the kernel cannot label cgroups.
    private var isImpossible = false

    /// The names of the cgroups in reserve, which belong to no instance.
    var names: [String] { spares.map(\.name) }

    /// Takes a cgroup for this instance, if there is one. Another is made later, when there is
    /// time.
    mutating func take(
        app: String, instance: UInt64
    ) -> (cgroup: Cgroup, name: String)? {
        if isImpossible { return nil }
        wanted = app
        guard let index = spares.lastIndex(where: { $0.app == app }) else { return nil }
        let spare = spares.remove(at: index)
        // The label is written before any process enters, because the spawner may be killed at any
        // time.
        guard (try? spare.cgroup.label(Subtree.name(app: app, instance: instance))) != nil else {
            return nil
        }
        return (spare.cgroup, spare.name)
    }

    /// Makes another cgroup in place of the one that was taken last. Call it when nobody waits.
    ///
    /// - Returns: the name of a cgroup that is not needed, which the caller must remove; nil if
    ///   there is none.
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

    /// - Returns: the names of the cgroups that were in reserve.
    mutating func empty() -> [String] {
        defer { spares = [] }
        return names
    }

    /// The process's number is part of the name, because a cgroup of another spawner may still
    /// exist.
    private static func name(app: String, serial: UInt64) -> String {
        "\(start(app))\(getpid()).\(serial)"
    }

    /// The beginning of the names in reserve. No instance's own name begins like this, because it
    /// has a number after the dash.
    static func start(_ app: String) -> String { Subtree.name(app: app) + "-r" }
}

/// The cgroup of an instance, which has the instance's name or label.
public enum InstanceCgroup {
    /// The part before the last dash in the names of an app's cgroups.
    public static func name(ofApp app: String) -> String { Subtree.name(app: app) }

    /// Finds the cgroup among those below `base`. This is rarely needed, because the spawner tells
    /// the cgroup's name.
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

    /// The instance's name for the cgroup that is called `name`.
    static func fullName(of cgroup: Cgroup, _ name: String) -> String {
        guard let dash = name.lastIndex(of: "-"), name[dash...].hasPrefix("-r"),
            let label = cgroup.label, !label.isEmpty
        else { return name }
        return label
    }
}
