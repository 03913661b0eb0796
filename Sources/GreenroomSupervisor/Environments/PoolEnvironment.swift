/// The part of an environment that programs and their libraries read before `main`.
///
/// A paused instance has read it already, so a launch may use the instance only if this part of its
/// own environment is equal. Nothing else of a caller's environment ever reaches a prewarmed
/// process before launch.
struct PoolEnvironment: Equatable, Sendable {
    /// `NAME=value`, sorted by name.
    let variables: [String]
    /// The number of bytes in the variables' text.
    let byteCount: Int

    /// The loader, libc and the locale machinery read these when they start (ld.so(8), locale(7),
    /// mallopt(3)). Constructors of Debian's libraries were seen to read most of the others. Those
    /// of sanitizers, OpenBLAS, OpenCV, glog and of a newer libstdc++ are here because their
    /// sources and manuals say so.
    static let names: Set<Substring> = [
        "LANG", "LANGUAGE", "TZ", "TMPDIR", "GLIBC_TUNABLES", "HOME", "PATH",
        // GTK and GLib remember these in library constructors, before main.
        "DESKTOP_AUTOSTART_ID", "GOBJECT_DEBUG", "G_DEBUG",
        "G_MESSAGES_PREFIXED", "G_SLICE", "PIXMAN_DISABLE", "QT_NO_CPU_FEATURE",
        "QTEST_DISABLE_CORE_DUMP", "OPENSSL_ia32cap", "ICU_DATA", "VK_LOADER_DEBUG",
        "LIBGCRYPT_FORCE_FIPS_MODE", "AS_SECURE_LOG_FILE", "LLVM_OVERRIDE_PRODUCER",
        "NLCB", "NLDBG", "NLSYSCONFDIR", "CPUPROFILE", "HEAPPROFILE", "HEAPCHECK",
        "ASAN_OPTIONS", "LSAN_OPTIONS", "MSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
        "GLIBCXX_TUNABLES", "GOTO_NUM_THREADS", "TZFILE",
        // Plug-ins of KDE and Qt, and programs of LXQt, read these when they are opened.
        "QT_HASH_SEED", "QSG_SANITY_CHECK", "LSPCLIENT_DEBUG",
    ]
    /// How the other names begin, up to the first underscore: those of the loader, locales, malloc
    /// and XDG; of OpenMP, OpenACC, Fortran, the Boehm collector, GnuTLS, Nettle, p11-kit,
    /// persistent memory, tcmalloc, gperftools, device-mapper, Babeltrace, Ceph, Inkscape and
    /// Mesa's drivers; of libdispatch, OpenBLAS, OpenCV and glog. Swift's runtime reads all of its
    /// own variables at once, for its backtraces.
    static let families: Set<Substring> = [
        "LD_", "LC_", "MALLOC_", "XDG_", "OMP_", "GOMP_", "ACC_", "GFORTRAN_", "GC_", "GNUTLS_",
        "NETTLE_", "P11_", "PMEM_", "PMEMBLK_", "PMDK_", "TCMALLOC_", "PERFTOOLS_", "HEAP_",
        "CPUPROFILE_", "D3D12_", "GALLIUM_", "R600_", "DM_", "BABELTRACE_", "CEPH_", "INKSCAPE_",
        "LIBDISPATCH_",
        "OPENBLAS_", "OPENCV_", "GLOG_", "SWIFT_",
    ]

    /// Values of one launch, which no paused instance could have. The instance gets them with the
    /// rest of its environment when it is launched. GTK, however, reads them in a constructor and
    /// so misses them; a manifest can name them in `EnvironmentKeys=`.
    static let perLaunch: Set<Substring> = ["DESKTOP_STARTUP_ID", "XDG_ACTIVATION_TOKEN"]

    /// Variables in which a launch may differ from a program that was paused in its main loop:
    /// those of one launch; those of the caller's shell and terminal, in which a program with
    /// windows does not run; those of the unit that the caller belongs to; and those by which GLib
    /// tells a process that it is the one that GLib has started, which no app of the daemon is.
    /// (The directory that PWD names is compared separately.)
    private static let ofCaller: Set<Substring> = perLaunch.union([
        "PWD", "OLDPWD", "SHLVL", "_", "WINDOWID", "TERM", "COLORTERM", "COLUMNS", "LINES",
        "INVOCATION_ID", "JOURNAL_STREAM", "MANAGERPID", "SYSTEMD_EXEC_PID",
        "GIO_LAUNCHED_DESKTOP_FILE", "GIO_LAUNCHED_DESKTOP_FILE_PID",
    ])

    /// Makes few look-ups, because every launch asks this about each variable.
    private static func isReadEarly(_ name: Substring, _ runtime: Runtime?) -> Bool {
        if runtime?.readsEarly(name) == true { return true }
        // Names of libGL and OpenAL begin with two underscores.
        if name.hasPrefix("__") || names.contains(name) { return true }
        guard let end = name.utf8.firstIndex(of: UInt8(ascii: "_")) else { return false }
        return families.contains(name[...end]) && !perLaunch.contains(name)
    }

    /// Picks the relevant variables of `environment`: those that programs read early, those that
    /// the app's manifest names (`extraNames`), and those that an interpreter reads if it pauses
    /// after its boot. If a name is given twice, the first counts, as for getenv(3).
    ///
    /// - Parameter isWhole: whether everything that the program itself may have read counts,
    ///   because it pauses in its main loop.
    init(
        of environment: [String], extraNames: Set<String> = [], runtime: Runtime? = nil,
        isWhole: Bool = false
    ) {
        var chosen: [(name: Substring, entry: String)] = []
        var names: Set<Substring> = []
        for entry in environment {
            guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = entry[..<equals]
            let isRelevant =
                (isWhole ? !Self.ofCaller.contains(name) : Self.isReadEarly(name, runtime))
                || !extraNames.isEmpty && extraNames.contains(String(name))
            if isRelevant, names.insert(name).inserted { chosen.append((name, entry)) }
        }
        chosen.sort { $0.name < $1.name }
        variables = chosen.map(\.entry)
        byteCount = variables.reduce(0) { $0 + $1.utf8.count }
    }

    /// Compares byte for byte: `String` takes two ways of writing an accent as equal, but a program
    /// sees the difference.
    static func == (one: Self, other: Self) -> Bool {
        one.byteCount == other.byteCount
            && one.variables.elementsEqual(other.variables) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// The names of the variables in which the two differ, sorted. Their values may be secret.
    func differingNames(from other: PoolEnvironment) -> [String] {
        let differing = Set(variables).symmetricDifference(other.variables)
        return Set(differing.map { String($0.prefix { $0 != "=" }) }).sorted()
    }

    /// The environment that a prewarmed process is started with: `base`, with these variables in
    /// place of the variables of this kind in `base`.
    func overlaid(
        on base: [String], extraNames: Set<String> = [], runtime: Runtime? = nil,
        isWhole: Bool = false
    ) -> [String] {
        let own = Set(
            PoolEnvironment(
                of: base, extraNames: extraNames, runtime: runtime, isWhole: isWhole
            ).variables)
        return base.filter { !own.contains($0) } + variables
    }
}
