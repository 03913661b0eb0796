internal import GreenroomLifecycle

/// The part of an environment that programs and their libraries read before `main`.
///
/// A paused instance has read it already, so a launch may only use the instance if its own part is
/// equal. Nothing else of a caller's environment ever reaches a prewarmed process before launch.
struct PoolEnvironment: Hashable, Sendable {
    /// `NAME=value`, sorted by name.
    let variables: [String]
    let key: EnvironmentKey

    /// The loader, libc and the locale machinery read these at start (ld.so(8), locale(7),
    /// mallopt(3)); toolkits read the XDG ones in constructors.
    private static let names: Set<String> = [
        "LANG", "LANGUAGE", "TZ", "TMPDIR", "GLIBC_TUNABLES", "HOME", "PATH",
        // GTK and GLib remember these in library constructors, before main.
        "DESKTOP_STARTUP_ID", "DESKTOP_AUTOSTART_ID", "GOBJECT_DEBUG", "G_DEBUG",
        "G_MESSAGES_PREFIXED", "G_SLICE", "PIXMAN_DISABLE", "QT_NO_CPU_FEATURE",
    ]
    private static let prefixes = ["LD_", "LC_", "MALLOC_", "XDG_", "__GL"]

    /// Picks the relevant variables of `environment`, with `extraNames` of the app's manifest.
    /// Of a name given twice the first counts, as for getenv(3).
    init(of environment: [String], extraNames: Set<String> = []) {
        var chosen: [(name: Substring, entry: String)] = []
        var names: Set<Substring> = []
        for entry in environment {
            guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = entry[..<equals]
            let isRelevant =
                Self.names.contains(String(name)) || extraNames.contains(String(name))
                || Self.prefixes.contains { name.hasPrefix($0) }
            if isRelevant, names.insert(name).inserted { chosen.append((name, entry)) }
        }
        chosen.sort { $0.name < $1.name }
        variables = chosen.map(\.entry)
        key = EnvironmentKey(Self.digest(variables))
    }

    /// FNV-1a over the entries and their ends: equal on every run and every machine, unlike
    /// `Hasher`, because keys are kept in the runtime state.
    static func digest(_ entries: [String]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for entry in entries {
            for byte in entry.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0xff) &* 0x100_0000_01b3
        }
        return hash
    }

    /// `base` with this part in place of its own: what a prewarmed process is started with.
    func overlaid(on base: [String], extraNames: Set<String> = []) -> [String] {
        let own = Set(PoolEnvironment(of: base, extraNames: extraNames).variables)
        return base.filter { !own.contains($0) } + variables
    }
}
