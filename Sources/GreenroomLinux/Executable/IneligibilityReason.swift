/// Why a command always starts cold. The raw values are stable, because clients and logs use them.
public enum IneligibilityReason: String, Equatable, Sendable, CaseIterable {
    case staticallyLinked = "statically_linked"
    case staticPositionIndependent = "static_pie"
    case noCLibrary = "no_c_library"
    case noLibraryStart = "no_libc_start"
    case unknownEntry = "unknown_entry"
    case preinitFunctions = "preinit_functions"
    case otherArchitecture = "other_architecture"
    case setUserID = "set_user_id"
    case setGroupID = "set_group_id"
    case fileCapabilities = "file_capabilities"
    /// Noticed when the program is executed. Only `startsPrograms` and `changesProcess` may be
    /// noticed later; all other reasons are known before.
    case secureExecution = "secure_execution"
    case unreadable = "unreadable"
    case unknownFormat = "unknown_format"
    case damagedFile = "damaged_file"
    case loaderMissing = "loader_missing"
    case unknownLoader = "unknown_loader"
    case relativePath = "relative_path"
    case wrapperNotUnderstood = "wrapper_not_understood"
    case argumentsReadEarly = "arguments_read_early"
    case preloadRefused = "preload_refused"
    /// Some libraries are known to do this; others are noticed when they are about to.
    case startsPrograms = "starts_programs"
    /// Noticed at the pause.
    case changesProcess = "changes_process"

    /// The code that clients and logs use.
    public var code: String { rawValue }

    /// An explanation for people: what the reason means, and what they can do.
    public var explanation: String {
        switch self {
        case .staticallyLinked:
            "The program is statically linked: no dynamic linker runs that could pause it, and "
                + "there is little start-up work to save."
        case .staticPositionIndependent:
            "The program is a static PIE: no dynamic linker runs that could pause it, and there "
                + "is little start-up work to save."
        case .noCLibrary:
            "The program does not use a C library (like Go programs built without cgo), so it cannot "
                + "be paused before main."
        case .noLibraryStart:
            "The program does not start through the C library's __libc_start_main, so it cannot "
                + "be paused before main."
        case .unknownEntry:
            "The program does not begin with a C library's start code (like Free Pascal's programs and "
                + "those that Go links itself), so its own code would run before the pause."
        case .preinitFunctions:
            "The program has functions that run before those of all libraries (DT_PREINIT_ARRAY; "
                + "sanitizers have them), and so before the pause."
        case .otherArchitecture:
            "The program is for another processor architecture than Greenroom's preload library."
        case .setUserID:
            "The program is set-user-ID: the dynamic linker ignores preload libraries for it, and "
                + "preparing it would run it for real."
        case .setGroupID:
            "The program is set-group-ID: the dynamic linker ignores preload libraries for it, and "
                + "preparing it would run it for real."
        case .fileCapabilities:
            "The program has file capabilities (see getcap): the dynamic linker ignores preload "
                + "libraries for it, and preparing it would run it for real."
        case .secureExecution:
            "The kernel runs the program in secure-execution mode, though its file does not say so (a rule "
                + "of AppArmor or SELinux does that): the dynamic linker ignores preload libraries for it, "
                + "and preparing it would run it for real. Greenroom has stopped that, and tries again "
                + "when the program's file or the manifest changes, or after greenroomctl reset-failed."
        case .unreadable:
            "The program's file cannot be read, so nothing is known about it; give the daemon "
                + "read permission."
        case .unknownFormat:
            "The file is neither an ELF program nor a script that begins with #!."
        case .damagedFile:
            "The ELF file is damaged or cut off: its headers contradict its contents."
        case .loaderMissing:
            "The dynamic linker that the program names does not exist; the program cannot run "
                + "at all."
        case .unknownLoader:
            "The dynamic linker that the program names is neither glibc's nor musl's, or cannot be "
                + "read, so nobody knows whether the program would be paused."
        case .relativePath:
            "Which interpreter or library the program gets depends on the working directory: "
                + "there is a path without a slash in front in the script's first line, in PATH, or in "
                + "the program's DT_NEEDED or DT_RUNPATH. Give full paths."
        case .wrapperNotUnderstood:
            "The script's first line gives env options or variables that Greenroom does not "
                + "follow, so it cannot know what will run; set variables with Environment=."
        case .argumentsReadEarly:
            "A library of the program (Rust's shared standard library, or GNUstep Base) reads the "
                + "arguments when it is loaded, so a paused program would have those of its "
                + "preparation."
        case .preloadRefused:
            "The program is built with the shared address sanitizer (libasan), or has it from "
                + "LD_PRELOAD in Environment=; libasan must be loaded before any other preload library."
        case .startsPrograms:
            "A library of the program (such as libparted or libtsan) starts another program or a process "
                + "when it is loaded, which would happen at each preparation. If Greenroom has seen that, "
                + "it has stopped the preparation, and tries again when the program's file or the "
                + "manifest changes, or after greenroomctl reset-failed."
        case .changesProcess:
            "A library of the program writes something when it is loaded, or changes the working "
                + "directory, the umask, a variable or descriptors 0 to 2. A launch from a paused instance "
                + "would lose that. Or the dynamic linker reports something, for example because of "
                + "LD_DEBUG. Greenroom tries again when the program's file or the manifest changes, or "
                + "after greenroomctl reset-failed."
        }
    }
}
