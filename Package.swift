// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is built alike: language mode 6, no warning survives (`relaxed`), and in the
/// product each use of unsafe memory is spelled out where it stands (`strict`). Tests call the C
/// library a great deal and are `relaxed`.
let relaxed: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]
let strict: [SwiftSetting] = relaxed + [.strictMemorySafety()]

let package = Package(
    name: "greenroom",
    products: [
        .executable(name: "greenroomd", targets: ["greenroomd"]),
        .executable(name: "greenroom-spawner", targets: ["greenroom-spawner"]),
        .executable(name: "greenroomctl", targets: ["greenroomctl"]),
        .executable(name: "greenroom-bus", targets: ["greenroom-bus"]),
        .executable(name: "greenroom-simulate", targets: ["greenroom-simulate"]),
        .library(name: "ApplicationKit", targets: ["ApplicationKit"]),
    ],
    dependencies: [
        // The client alone parses rich command lines; the daemon must stay free of Foundation.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        // Executables: parse, construct, run.
        .executableTarget(
            name: "greenroomd", dependencies: ["GreenroomSupervisor", "Systemd"],
            swiftSettings: strict),
        .executableTarget(
            name: "greenroom-spawner", dependencies: ["GreenroomSpawner", "GreenroomLinux"],
            swiftSettings: strict),
        .executableTarget(
            name: "greenroomctl", dependencies: ["GreenroomCommands"], swiftSettings: strict),
        .executableTarget(
            name: "greenroom-bus", dependencies: ["GreenroomBus"], swiftSettings: strict),
        .executableTarget(
            name: "greenroom-simulate", dependencies: ["GreenroomSimulator", "GreenroomLifecycle"],
            swiftSettings: strict),

        // Programs.
        .target(
            name: "GreenroomSupervisor",
            dependencies: [
                "GreenroomLifecycle", "GreenroomLinux", "GreenroomAppChannel", "GreenroomSpawner",
                "GreenroomControl", "GreenroomManifest", "Systemd", "UnitFile", "Varlink",
                "AppFolders", "DesktopEntry",
                "CSeccomp",
            ], swiftSettings: strict),
        .target(
            name: "GreenroomSpawner", dependencies: ["GreenroomLinux"], swiftSettings: strict),
        .target(
            name: "GreenroomCommands",
            dependencies: [
                "GreenroomAppChannel", "GreenroomControl", "GreenroomLinux", "GreenroomManifest",
                "UnitFile", "Varlink",
                "AppFolders", "DesktopEntry",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),
        .target(
            name: "GreenroomBus",
            dependencies: ["GreenroomControl", "GreenroomLinux", "Systemd", "Varlink"],
            swiftSettings: strict),
        .target(
            name: "GreenroomSimulator", dependencies: ["GreenroomLifecycle"],
            swiftSettings: strict),

        .target(
            name: "AppFolders",
            dependencies: ["DesktopEntry", "GreenroomLinux", "GreenroomManifest", "UnitFile"],
            swiftSettings: strict),

        // One interface each.
        .target(
            name: "GreenroomLinux", dependencies: ["CGreenroomLinux"], swiftSettings: strict),
        .target(name: "Systemd", dependencies: ["CSystemd"], swiftSettings: strict),

        // Pure.
        .target(name: "GreenroomLifecycle", swiftSettings: strict),
        .target(name: "GreenroomAppChannel", swiftSettings: strict),
        .target(name: "UnitFile", swiftSettings: strict),
        .target(name: "DesktopEntry", swiftSettings: strict),
        .target(name: "GreenroomManifest", dependencies: ["UnitFile"], swiftSettings: strict),
        .target(name: "Varlink", swiftSettings: strict),
        .target(name: "GreenroomControl", dependencies: ["Varlink"], swiftSettings: strict),

        // The SDK, linked into apps: nothing but these two, and Dispatch, which Swift's concurrency has.
        .target(
            name: "ApplicationKit", dependencies: ["GreenroomAppChannel", "CApplicationKit"],
            swiftSettings: strict),
        .target(name: "CApplicationKit", linkerSettings: [.linkedLibrary("dispatch")]),

        // C: what Swift cannot say. (The preload shim in Sources/CPrewarm is linked by clang, see
        // the Makefile: a SwiftPM library would pull the Swift runtime into every app.)
        .target(name: "CGreenroomLinux"),
        // Loads libseccomp when a manifest needs it; only its header is used to build.
        .target(name: "CSeccomp"),
        .systemLibrary(
            name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),

        // Sample apps, used by the demo.
        .executableTarget(
            name: "greenroom-notes", dependencies: ["ApplicationKit"],
            path: "Sources/Samples/Notes", swiftSettings: strict),
        .executableTarget(
            name: "greenroom-echo", dependencies: ["ApplicationKit"],
            path: "Sources/Samples/Echo", swiftSettings: strict),
        .executableTarget(
            name: "greenroom-fetch", dependencies: ["ApplicationKit"],
            path: "Sources/Samples/Fetch", swiftSettings: strict),

        // What tests share.
        .target(name: "CTestSupport", path: "Tests/CTestSupport"),
        .target(
            name: "TestSupport", dependencies: ["CTestSupport"], path: "Tests/TestSupport",
            swiftSettings: relaxed),
        .target(
            name: "VarlinkTestSupport", dependencies: ["GreenroomLinux", "Varlink"],
            path: "Tests/VarlinkTestSupport", swiftSettings: relaxed),

        .target(
            name: "DaemonTestSupport",
            dependencies: ["GreenroomControl", "GreenroomLinux", "TestSupport", "Varlink"],
            path: "Tests/DaemonTestSupport", swiftSettings: relaxed),

        // Tests, from the bottom up. The loop owns its thread, so its own tests run it in a process:
        // systemd-probe.
        .testTarget(
            name: "GreenroomLifecycleTests", dependencies: ["GreenroomLifecycle"],
            swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomSimulatorTests",
            dependencies: ["GreenroomSimulator", "GreenroomLifecycle"], swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomAppChannelTests",
            dependencies: ["GreenroomAppChannel", "TestSupport"], swiftSettings: relaxed),
        .executableTarget(
            name: "bench-plain-app", path: "Tests/Benchmarks/plain-app", swiftSettings: relaxed),
        .executableTarget(
            name: "bench-kit-app", dependencies: ["ApplicationKit"],
            path: "Tests/Benchmarks/kit-app", swiftSettings: relaxed),
        .executableTarget(
            name: "application-kit-probe", dependencies: ["ApplicationKit"],
            path: "Tests/ApplicationKitProbe", swiftSettings: relaxed),
        .testTarget(
            name: "ApplicationKitTests",
            dependencies: [
                "ApplicationKit", "GreenroomAppChannel", "TestSupport", "CTestSupport",
                "application-kit-probe", "greenroom-notes", "greenroom-echo", "greenroom-fetch",
            ], swiftSettings: relaxed),
        .testTarget(
            name: "UnitFileTests", dependencies: ["UnitFile"], swiftSettings: relaxed),
        .testTarget(
            name: "DesktopEntryTests", dependencies: ["DesktopEntry"], swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomManifestTests",
            dependencies: ["GreenroomManifest", "TestSupport", "UnitFile"],
            swiftSettings: relaxed),
        .testTarget(
            name: "VarlinkTests",
            dependencies: ["GreenroomLinux", "TestSupport", "Varlink", "VarlinkTestSupport"],
            swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomControlTests",
            dependencies: ["GreenroomControl", "Varlink", "VarlinkTestSupport"],
            swiftSettings: relaxed),
        .executableTarget(
            name: "systemd-probe", dependencies: ["Systemd"], path: "Tests/SystemdProbe",
            swiftSettings: relaxed),
        .testTarget(
            name: "SystemdTests", dependencies: ["Systemd", "systemd-probe"],
            swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomLinuxTests",
            dependencies: ["GreenroomLinux", "CGreenroomLinux", "TestSupport", "CTestSupport"],
            swiftSettings: relaxed),
        .testTarget(
            name: "PrewarmShimTests",
            dependencies: ["GreenroomAppChannel", "TestSupport", "CTestSupport"],
            swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomSpawnerTests",
            dependencies: [
                "GreenroomSpawner", "GreenroomLinux", "TestSupport", "greenroom-spawner",
            ],
            swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomCommandsTests",
            dependencies: [
                "GreenroomCommands", "GreenroomControl", "GreenroomLinux", "GreenroomManifest",
                "TestSupport", "Varlink", "VarlinkTestSupport", "greenroomctl",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: ["Snapshots"], swiftSettings: relaxed),
        .testTarget(
            name: "GreenroomSupervisorTests",
            dependencies: [
                "GreenroomSupervisor", "GreenroomAppChannel", "GreenroomLifecycle",
                "GreenroomLinux",
                "GreenroomSpawner", "Systemd", "TestSupport",
            ],
            swiftSettings: relaxed),

        // Apps that speak the channel, through the whole daemon.
        .executableTarget(
            name: "application-probe", dependencies: ["GreenroomAppChannel", "GreenroomLinux"],
            path: "Tests/ApplicationProbe", swiftSettings: relaxed),
        .testTarget(
            name: "ApplicationTests",
            dependencies: [
                "DaemonTestSupport", "GreenroomControl", "GreenroomLinux", "TestSupport",
                "application-probe", "greenroomd", "greenroom-spawner", "greenroomctl",
                "application-kit-probe", "greenroom-notes", "greenroom-echo", "greenroom-fetch",
                "greenroom-bus", "systemd-probe",
            ], swiftSettings: relaxed),
        .testTarget(
            name: "ManualTests",
            dependencies: [
                "GreenroomCommands", "GreenroomControl", "GreenroomLinux", "GreenroomManifest",
                "GreenroomSpawner", "GreenroomSupervisor", "Varlink",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], exclude: ["Snapshots"], swiftSettings: relaxed),

        // The whole daemon, as real processes.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "DaemonTestSupport", "GreenroomControl", "GreenroomLinux", "TestSupport",
                "Varlink", "VarlinkTestSupport", "greenroomd", "greenroom-spawner",
                "greenroomctl",
            ], swiftSettings: relaxed),
        .testTarget(
            name: "RecoveryTests",
            dependencies: [
                "DaemonTestSupport", "GreenroomControl", "GreenroomLinux", "TestSupport",
                "CTestSupport", "greenroomd", "greenroom-spawner", "greenroomctl",
            ], swiftSettings: relaxed),
    ],
    swiftLanguageModes: [.v6]
)
