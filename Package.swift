// swift-tools-version: 6.2
import PackageDescription

/// Programs that tests start.
let daemon: [Target.Dependency] = [
    "greenroomd", "greenroom-spawner", "greenroomctl", "greenroom-history",
]
let samples: [Target.Dependency] = ["greenroom-notes", "greenroom-echo", "greenroom-fetch"]

let package = Package(
    name: "greenroom",
    products: [
        .executable(name: "greenroomd", targets: ["greenroomd"]),
        .executable(name: "greenroom-spawner", targets: ["greenroom-spawner"]),
        .executable(name: "greenroomctl", targets: ["greenroomctl"]),
        .executable(name: "greenroom-bus", targets: ["greenroom-bus"]),
        .executable(name: "greenroom-foreground", targets: ["greenroom-foreground"]),
        .executable(name: "greenroom-launchscreen", targets: ["greenroom-launchscreen"]),
        .executable(name: "greenroom-history", targets: ["greenroom-history"]),
        .executable(name: "greenroom-conformance", targets: ["greenroom-conformance"]),
        .executable(name: "greenroom-simulate", targets: ["greenroom-simulate"]),
        .executable(name: "greenroom-replay", targets: ["greenroom-replay"]),
        .library(name: "ApplicationKit", targets: ["ApplicationKit"]),
        .library(name: "ApplicationKitFoundation", targets: ["ApplicationKitFoundation"]),
    ],
    dependencies: [
        // The client alone parses rich command lines; the daemon must stay free of Foundation.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        // Executables: parse, construct, run.
        .executableTarget(
            name: "greenroomd", dependencies: ["GreenroomSupervisor", "GreenroomLinux", "Systemd"]),
        .executableTarget(
            name: "greenroom-spawner", dependencies: ["GreenroomSpawner", "GreenroomLinux"]),
        .executableTarget(name: "greenroomctl", dependencies: ["GreenroomCommands"]),
        .executableTarget(name: "greenroom-bus", dependencies: ["GreenroomBus"]),
        .executableTarget(name: "greenroom-foreground", dependencies: ["GreenroomSession"]),
        .executableTarget(name: "greenroom-launchscreen", dependencies: ["GreenroomSession"]),
        .executableTarget(name: "greenroom-history", dependencies: ["GreenroomHistory"]),
        .executableTarget(
            name: "greenroom-conformance", dependencies: ["GreenroomAppChannel", "GreenroomLinux"]),

        // Programs.
        .target(
            name: "GreenroomSupervisor",
            dependencies: [
                "GreenroomLifecycle", "GreenroomLinux", "GreenroomAppChannel", "GreenroomSpawner",
                "GreenroomControl", "GreenroomManifest", "GreenroomPolicy", "Systemd", "UnitFile",
                "Varlink", "AppFolders", "DesktopEntry",
                "CSeccomp",
            ]),
        .target(name: "GreenroomSpawner", dependencies: ["GreenroomLinux"]),
        .target(
            name: "GreenroomCommands",
            dependencies: [
                "AppFolders", "DesktopEntry", "GreenroomControl", "GreenroomLinux",
                "GreenroomManifest", "UnitFile", "Varlink",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .target(
            name: "GreenroomBus",
            dependencies: [
                "AppFolders", "GreenroomControl", "GreenroomLinux", "GreenroomSession", "Systemd",
                "Varlink",
            ]),
        // The only one that speaks to displays.
        .target(
            name: "GreenroomSession",
            dependencies: ["GreenroomControl", "GreenroomLinux", "Systemd", "UnitFile", "Varlink"]),
        // The only user of SQLite.
        .target(
            name: "GreenroomHistory",
            dependencies: [
                "CSQLite", "GreenroomControl", "GreenroomLinux", "GreenroomPrediction", "Varlink",
            ]),

        .target(
            name: "AppFolders",
            dependencies: ["DesktopEntry", "GreenroomLinux", "GreenroomManifest", "UnitFile"]),

        // One interface each.
        .target(name: "GreenroomLinux", dependencies: ["CGreenroomLinux"]),
        .target(name: "Systemd", dependencies: ["CSystemd"]),

        // Pure.
        .target(name: "GreenroomPolicy"),
        .target(name: "GreenroomLifecycle", dependencies: ["GreenroomPolicy"]),
        .target(name: "GreenroomPrediction"),
        .target(name: "GreenroomAppChannel"),
        .target(name: "UnitFile"),
        .target(name: "DesktopEntry"),
        .target(name: "GreenroomManifest", dependencies: ["GreenroomPolicy", "UnitFile"]),
        .target(name: "Varlink"),
        .target(name: "GreenroomControl", dependencies: ["Varlink"]),

        // The SDK, linked into apps: nothing but these two, and Dispatch, which Swift's concurrency has.
        .target(name: "ApplicationKit", dependencies: ["GreenroomAppChannel", "CApplicationKit"]),
        .target(name: "CApplicationKit", linkerSettings: [.linkedLibrary("dispatch")]),

        // For apps that use Foundation anyway: URLs of its type.
        .target(name: "ApplicationKitFoundation", dependencies: ["ApplicationKit"]),

        // C: what Swift cannot say. (The preload shim in Sources/CPrewarm is linked by clang, see
        // the Makefile: a SwiftPM library would pull the Swift runtime into every app.)
        .target(name: "CGreenroomLinux"),
        // Loads libseccomp when a manifest needs it; only its header is used to build.
        .target(name: "CSeccomp"),
        .systemLibrary(
            name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),

        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        // Sample apps, used by the demo.
        .executableTarget(
            name: "greenroom-notes", dependencies: ["ApplicationKit"],
            path: "Sources/Samples/Notes"),
        .executableTarget(
            name: "greenroom-echo", dependencies: ["ApplicationKit"],
            path: "Sources/Samples/Echo"),
        .executableTarget(
            name: "greenroom-fetch", dependencies: ["ApplicationKit"],
            path: "Sources/Samples/Fetch"),

        // What tests share.
        .target(name: "CTestSupport", path: "Tests/Support/CTestSupport"),
        .target(
            name: "TestSupport", dependencies: ["CTestSupport"],
            path: "Tests/Support/TestSupport"),
        .target(
            name: "VarlinkTestSupport", dependencies: ["GreenroomLinux", "TestSupport", "Varlink"],
            path: "Tests/Support/VarlinkTestSupport"),

        .target(
            name: "DaemonTestSupport",
            dependencies: ["GreenroomControl", "GreenroomLinux", "TestSupport", "Varlink"],
            path: "Tests/Support/DaemonTestSupport"),

        // Random worlds against the core.
        .target(
            name: "GreenroomSimulator", dependencies: ["GreenroomLifecycle"],
            path: "Tests/Simulator/GreenroomSimulator"),
        .executableTarget(
            name: "greenroom-simulate", dependencies: ["GreenroomSimulator", "GreenroomLifecycle"],
            path: "Tests/Simulator/greenroom-simulate"),

        // Histories of launches against the predictor, and against simpler rules.
        .target(
            name: "GreenroomReplay",
            dependencies: ["GreenroomControl", "GreenroomPrediction", "Varlink"],
            path: "Tests/Replay/GreenroomReplay"),
        .executableTarget(
            name: "greenroom-replay", dependencies: ["GreenroomReplay"],
            path: "Tests/Replay/greenroom-replay"),

        // Tests, from the bottom up. The loop owns its thread, so its own tests run it in a process:
        // systemd-probe.
        .testTarget(
            name: "GreenroomLifecycleTests", dependencies: ["GreenroomLifecycle", "TestSupport"]),
        .testTarget(
            name: "GreenroomSimulatorTests",
            dependencies: ["GreenroomSimulator", "GreenroomLifecycle"]),
        .testTarget(name: "GreenroomPredictionTests", dependencies: ["GreenroomPrediction"]),
        .testTarget(
            name: "GreenroomReplayTests",
            dependencies: ["GreenroomPrediction", "GreenroomReplay"]),
        .testTarget(
            name: "GreenroomAppChannelTests",
            dependencies: ["GreenroomAppChannel", "TestSupport"]),
        .executableTarget(name: "bench-plain-app", path: "Tests/Benchmarks/plain-app"),
        .executableTarget(
            name: "bench-kit-app", dependencies: ["ApplicationKit"],
            path: "Tests/Benchmarks/kit-app"),
        .executableTarget(
            name: "application-kit-probe", dependencies: ["ApplicationKit"],
            path: "Tests/Probes/ApplicationKitProbe"),
        .executableTarget(
            name: "foundation-probe", dependencies: ["ApplicationKitFoundation"],
            path: "Tests/Probes/FoundationProbe"),
        .testTarget(
            name: "ApplicationKitTests",
            dependencies: [
                "ApplicationKit", "GreenroomAppChannel", "TestSupport", "CTestSupport",
                "application-kit-probe", "foundation-probe",
            ] + samples),
        .testTarget(name: "UnitFileTests", dependencies: ["UnitFile"]),
        .testTarget(
            name: "DesktopEntryTests", dependencies: ["DesktopEntry", "TestSupport"]),
        .testTarget(
            name: "GreenroomManifestTests",
            dependencies: ["GreenroomManifest", "GreenroomPolicy", "TestSupport", "UnitFile"]),
        .testTarget(
            name: "VarlinkTests",
            dependencies: ["GreenroomLinux", "TestSupport", "Varlink", "VarlinkTestSupport"]),
        .testTarget(
            name: "GreenroomControlTests",
            dependencies: ["GreenroomControl", "Varlink", "VarlinkTestSupport"]),
        .testTarget(
            name: "GreenroomHistoryTests",
            dependencies: ["GreenroomControl", "GreenroomHistory", "TestSupport"]),
        .executableTarget(
            name: "systemd-probe", dependencies: ["Systemd"], path: "Tests/Probes/SystemdProbe"),
        .testTarget(name: "SystemdTests", dependencies: ["Systemd", "systemd-probe"]),
        .testTarget(
            name: "GreenroomLinuxTests",
            dependencies: ["GreenroomLinux", "CGreenroomLinux", "TestSupport", "CTestSupport"]),
        .testTarget(
            name: "GreenroomBusTests",
            dependencies: [
                "GreenroomBus", "GreenroomControl", "GreenroomSession", "Varlink",
                "VarlinkTestSupport",
            ]),
        .testTarget(
            name: "GreenroomSessionTests",
            dependencies: ["GreenroomSession", "GreenroomLinux", "TestSupport"]),
        .testTarget(
            name: "PrewarmShimTests",
            dependencies: ["GreenroomAppChannel", "TestSupport", "CTestSupport"]),
        .testTarget(
            name: "GreenroomSpawnerTests",
            dependencies: [
                "GreenroomSpawner", "GreenroomLinux", "TestSupport", "greenroom-spawner",
            ]),
        .testTarget(
            name: "GreenroomCommandsTests",
            dependencies: [
                "AppFolders", "GreenroomCommands", "GreenroomControl", "GreenroomLinux",
                "GreenroomManifest", "GreenroomReplay", "TestSupport", "Varlink",
                "VarlinkTestSupport", "greenroomctl",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: ["Snapshots"]),
        .testTarget(
            name: "GreenroomSupervisorTests",
            dependencies: [
                "GreenroomSupervisor", "GreenroomAppChannel", "GreenroomControl",
                "GreenroomLifecycle", "GreenroomLinux", "GreenroomPolicy",
                "GreenroomSpawner", "Systemd", "TestSupport", "Varlink",
            ]),

        // Apps that speak the channel, through the whole daemon.
        .executableTarget(
            name: "application-probe", dependencies: ["GreenroomAppChannel", "GreenroomLinux"],
            path: "Tests/Probes/ApplicationProbe"),
        .testTarget(
            name: "ApplicationTests",
            dependencies: [
                "DaemonTestSupport", "GreenroomControl", "GreenroomLinux", "TestSupport", "Varlink",
                "VarlinkTestSupport", "application-probe", "application-kit-probe",
                "greenroom-bus", "greenroom-foreground", "systemd-probe",
            ] + daemon + samples, path: "Tests/Daemon/ApplicationTests"),
        .testTarget(
            name: "ManualTests",
            dependencies: [
                "GreenroomCommands", "GreenroomControl", "GreenroomLinux", "GreenroomManifest",
                "GreenroomSpawner", "GreenroomSupervisor", "Varlink",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: ["Snapshots"]),

        // The whole daemon, as real processes.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "CTestSupport", "DaemonTestSupport", "DesktopEntry", "GreenroomControl",
                "GreenroomLinux", "TestSupport", "Varlink", "VarlinkTestSupport",
                "greenroom-bus", "greenroom-foreground", "greenroom-launchscreen",
            ] + daemon, path: "Tests/Daemon/IntegrationTests"),
        .testTarget(
            name: "RecoveryTests",
            dependencies: [
                "DaemonTestSupport", "GreenroomControl", "GreenroomLinux", "TestSupport",
                "CTestSupport",
            ] + daemon, path: "Tests/Daemon/RecoveryTests"),
    ],
    swiftLanguageModes: [.v6]
)

/// Every Swift target is built alike: language mode 6, and no warning survives. In the product each use
/// of unsafe memory is also marked in the source. Tests call the C library a great deal and need not.
let everywhere: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]
for target in package.targets where target.type != .system {
    if target.type == .test, target.path == nil { target.path = "Tests/Unit/" + target.name }
    let isForTests = target.path?.hasPrefix("Tests/") == true
    target.swiftSettings = everywhere + (isForTests ? [] : [.strictMemorySafety()])
}
