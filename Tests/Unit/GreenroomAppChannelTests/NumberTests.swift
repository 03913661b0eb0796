import TestSupport
import Testing

@testable import GreenroomAppChannel

/// One number of the app channel, as each SDK names it. Nil: that SDK has no use for it.
private struct Number {
    let swift: Int64
    let c: String?
    let python: String?

    init(_ swift: some BinaryInteger, _ c: String?, _ python: String?) {
        self.swift = Int64(swift)
        self.c = c
        self.python = python
    }

    init(_ swift: some RawRepresentable<some BinaryInteger>, _ c: String?, _ python: String?) {
        self.init(swift.rawValue, c, python)
    }
}

@Suite struct `The numbers of the app channel` {
    private static let messages: [(AppMessageType, c: String?, python: String?)] = [
        (.launch, "MESSAGE_LAUNCH", "_LAUNCH"),
        (.lifecycle, "MESSAGE_LIFECYCLE", "_LIFECYCLE"),
        (.connectScene, "MESSAGE_CONNECT_SCENE", "_CONNECT"),
        (.scene, "MESSAGE_SCENE", "_SCENE"),
        (.discardScenes, "MESSAGE_DISCARD_SCENES", "_DISCARD"),
        (.deliver, "MESSAGE_DELIVER", "_DELIVER"),
        (.answer, "MESSAGE_ANSWER", "_ANSWER"),
        (.credentials, "MESSAGE_CREDENTIALS", "_CREDENTIALS"),
        (.handleEvents, "MESSAGE_HANDLE_EVENTS", "_EVENTS"),
        (.restoreState, "MESSAGE_RESTORE_STATE", "_RESTORE"),
        (.backgroundTime, "MESSAGE_BACKGROUND_TIME", "_TIME"),
        (.backgroundTimeExpires, "MESSAGE_BACKGROUND_TIME_EXPIRES", "_TIME_EXPIRES"),
        (.runTask, "MESSAGE_RUN_TASK", "_RUN"),
        (.pendingTasks, "MESSAGE_PENDING_TASKS", "_PENDING"),
        (.expireTask, "MESSAGE_EXPIRE_TASK", "_EXPIRE"),
        (.metrics, nil, nil), (.diagnostics, nil, nil),
        (.acknowledged, "MESSAGE_ACKNOWLEDGED", "_ACKNOWLEDGED"),
        (.launchStep, "MESSAGE_STEP", "_STEP"),
        (.callbackOverran, "MESSAGE_OVERRAN", "_OVERRAN"),
        (.didDrawFirstFrame, "MESSAGE_FIRST_FRAME", "_FIRST_FRAME"),
        (.requestScene, "MESSAGE_REQUEST_SCENE", "_REQUEST_SCENE"),
        (.openURL, nil, "_OPEN_URL"),
        (.saveState, "MESSAGE_SAVE_STATE", "_SAVE"),
        (.extendRestoration, "MESSAGE_EXTEND_RESTORATION", "_EXTEND"),
        (.completeRestoration, "MESSAGE_COMPLETE_RESTORATION", "_COMPLETE"),
        (.beginBackgroundTask, "MESSAGE_BEGIN_BACKGROUND_TASK", "_BEGIN"),
        (.endBackgroundTask, "MESSAGE_END_BACKGROUND_TASK", "_END"),
        (.submitTask, "MESSAGE_SUBMIT_TASK", "_SUBMIT"),
        (.taskRequests, "MESSAGE_TASK_REQUESTS", "_QUERY"),
        (.completedTask, "MESSAGE_COMPLETED_TASK", "_COMPLETED"),
        (.launchTask, "MESSAGE_LAUNCH_TASK", "_LAUNCH_TASK"),
        (.subscribesToMetrics, nil, nil),
        (.launchSteps, "MESSAGE_LAUNCH_STEPS", "_LAUNCH_STEPS"),
    ]

    private static let steps: [(AppReport.LaunchStep, c: String, python: String)] = [
        (.main, "STEP_MAIN", "_MAIN"), (.objects, "STEP_OBJECTS", "_OBJECTS"),
        (.eventLoop, "STEP_EVENT_LOOP", "_EVENT_LOOP"),
        (.interface, "STEP_INTERFACE", "_INTERFACE"),
        (.willFinishLaunching, "STEP_WILL", "_WILL"),
        (.stateRestoration, "STEP_RESTORATION", "_RESTORATION"),
        (.didFinishLaunching, "STEP_DID", "_DID"),
        (.didFinishLaunchingNotification, "STEP_NOTIFICATION", "_NOTIFICATION"),
        (.sceneConfiguration, "STEP_SCENE_CONFIGURATION", "_SCENE_CONFIGURATION"),
        (.sceneConnection, "STEP_SCENE_CONNECTION", "_SCENE_CONNECTION"),
        (.active, "STEP_ACTIVE", "_ACTIVE"), (.background, "STEP_BACKGROUND", "_BACKGROUND"),
        (.afterLaunch, "STEP_AFTER_LAUNCH", "_AFTER_LAUNCH"),
    ]

    private static let reasons: [(AppLaunch.Reason, c: String, python: String)] = [
        (.user, "GREENROOM_REASON_USER", "LaunchReason.USER"),
        (.url, "GREENROOM_REASON_URL", "LaunchReason.URL"),
        (.quickAction, "GREENROOM_REASON_QUICK_ACTION", "LaunchReason.QUICK_ACTION"),
        (.userActivity, "GREENROOM_REASON_USER_ACTIVITY", "LaunchReason.USER_ACTIVITY"),
        (
            .remoteNotification, "GREENROOM_REASON_REMOTE_NOTIFICATION",
            "LaunchReason.REMOTE_NOTIFICATION"
        ),
        (.location, "GREENROOM_REASON_LOCATION", "LaunchReason.LOCATION"),
        (.timer, "GREENROOM_REASON_TIMER", "LaunchReason.TIMER"),
        (.socket, "GREENROOM_REASON_SOCKET", "LaunchReason.SOCKET"),
        (.path, "GREENROOM_REASON_PATH", "LaunchReason.PATH"),
        (.system, "GREENROOM_REASON_SYSTEM", "LaunchReason.SYSTEM"),
        (.scheduledTask, "GREENROOM_REASON_SCHEDULED_TASK", "LaunchReason.SCHEDULED_TASK"),
    ]

    private static let others: [Number] = [
        Number(AppLaunch.Flags.foreground, "LAUNCH_FOREGROUND", "_FOREGROUND"),
        Number(AppLaunch.Flags.scenes, "LAUNCH_SCENES", "_SCENES"),
        Number(AppLaunch.Flags.protectedDataAvailable, "LAUNCH_UNLOCKED", "_UNLOCKED"),
        Number(AppLaunch.Flags.archive, "LAUNCH_ARCHIVE", "_ARCHIVE"),
        Number(AppLaunch.Flags.firstLaunch, "LAUNCH_FIRST", "_FIRST_LAUNCH"),
        Number(
            AppLaunch.Flags.firstLaunchOfVersion, "LAUNCH_FIRST_OF_VERSION",
            "_FIRST_LAUNCH_OF_VERSION"),
        Number(
            AppLaunch.Flags.namesCredentials, "LAUNCH_NAMES_CREDENTIALS", "_NAMES_CREDENTIALS"),
        Number(
            AppMessage.PauseReason.applicationMain, "PAUSED_AT_APPLICATION_MAIN",
            "_PAUSED_AT_APPLICATION_MAIN"),
        Number(WireFormat.credentialsRole, "ROLE_CREDENTIALS", "_CREDENTIALS_ROLE"),
        Number(WireFormat.workingDirectoryRole, "GR_ROLE_WORKING_DIRECTORY", "_DIRECTORY_ROLE"),
        Number(WireFormat.stringsRole, "GR_ROLE_STRINGS", "_STRINGS_ROLE"),
        Number(WireFormat.magic, "GR_WIRE_MAGIC", "_MAGIC"),
        Number(WireFormat.version, "GR_WIRE_VERSION", "_VERSION"),
        Number(WireFormat.descriptorLimit, "GR_WIRE_DESCRIPTOR_LIMIT", "_DESCRIPTOR_LIMIT"),
        Number(WireFormat.umaskUnchanged, "GR_UMASK_UNCHANGED", "_UMASK_UNCHANGED"),
        Number(WireFormat.MessageType.paused, "GR_PAUSED", "_PAUSED"),
        Number(WireFormat.MessageType.started, "GR_STARTED", "_STARTED"),
        Number(WireFormat.MessageType.pong, "GR_PONG", "_PONG"),
        Number(WireFormat.MessageType.error, "GR_ERROR", "_ERROR"),
        Number(WireFormat.MessageType.go, "GR_GO", "_GO"),
        Number(WireFormat.MessageType.ping, "GR_PING", "_PING"),
        Number(WireFormat.MessageType.quit, "GR_QUIT", "_QUIT"),
        Number(GoMessage.Flags.newSession, "GR_NEW_SESSION", "_NEW_SESSION"),
        Number(
            GoMessage.Flags.controllingTerminal, "GR_CONTROLLING_TERMINAL",
            "_CONTROLLING_TERMINAL"),
        Number(
            WireFormat.stringsInDescriptor, "GR_STRINGS_IN_DESCRIPTOR",
            "_STRINGS_IN_DESCRIPTOR"),
        Number(GoMessage.Flags.directoryByName, "GR_DIRECTORY_BY_NAME", "_DIRECTORY_BY_NAME"),
        Number(SceneConnection.foregroundFlag, "CONNECT_FOREGROUND", "_CONNECT_FOREGROUND"),
        Number(TaskSubmission.externalPowerFlag, "NEEDS_POWER", "_NEEDS_POWER"),
        Number(TaskSubmission.networkFlag, "NEEDS_NETWORK", "_NEEDS_NETWORK"),
        Number(
            AppEvent.Lifecycle.protectedDataIsUnavailable, "PROTECTED_DATA_IS_UNAVAILABLE",
            "_PROTECTED_DATA_IS_UNAVAILABLE"),
    ]

    private static let limits: [Number] = [
        Number(AppLimits.callbackNanoseconds, "CALLBACK_NANOSECONDS", "_CALLBACK_NANOSECONDS"),
        Number(AppArchive.byteLimit, "ARCHIVE_BYTE_LIMIT", "_ARCHIVE_LIMIT"),
        Number(AppLimits.backgroundTasks, "BACKGROUND_TASK_LIMIT", "_BACKGROUND_TASK_LIMIT"),
        Number(AppLimits.launchTasks, "LAUNCH_TASK_LIMIT", "_LAUNCH_TASK_LIMIT"),
        Number(
            AppLimits.launchTaskNameBytes, "LAUNCH_TASK_NAME_BYTE_LIMIT",
            "_LAUNCH_TASK_NAME_LIMIT"),
        Number(AppLimits.requests, "REQUEST_LIMIT", "_REQUEST_LIMIT"),
        Number(AppLimits.waitingNotes, "OUTBOX_LIMIT", "_OUTBOX_LIMIT"),
    ]

    private static var all: [Number] {
        messages.map { Number($0.0, $0.c, $0.python) } + steps.map { Number($0.0, $0.c, $0.python) }
            + reasons.map { Number($0.0, $0.c, $0.python) } + others + limits
    }

    @Test func `every message, step and reason is in the tables above`() {
        #expect(Self.messages.map(\.0) == AppMessageType.allCases)
        #expect(Self.steps.map(\.0) == AppReport.LaunchStep.allCases)
        #expect(Self.reasons.map(\.0) == AppLaunch.Reason.allCases)
    }

    @Test func `the C library has the same numbers`() throws {
        let directory = try TemporaryDirectory()
        let names = Self.all.compactMap(\.c)
        let sources = "\(packageRoot)/Sources/CGreenroomApp"
        let prints = names.map { "    printf(\"%lld\\n\", (long long)(\($0)));\n" }.joined()
        let source = try directory.write(
            """
            #include "\(sources)/channel.h"
            #include "\(sources)/include/greenroom-app.h"
            #include <stdio.h>
            int main(void) {
            \(prints)}
            """, to: "numbers.c")
        let printed = try lines(of: run(ChildRequest(try compile(source: source))).output)
        let expected = Self.all.filter { $0.c != nil }.map { String($0.swift) }
        #expect(
            zip(names, printed).map { "\($0) \($1)" } == zip(names, expected).map { "\($0) \($1)" })
    }

    @Test func `the Python module has the same numbers`() throws {
        let python = findProgram("/usr/bin/python3", "python3")
        try requireOrSkip(python != nil, "no python3")
        let names = Self.all.compactMap(\.python)
        let script = """
            import sys
            sys.path.insert(0, "\(packageRoot)/Sources/Python")
            sys.dont_write_bytecode = True
            import greenroom_app
            for name in sys.argv[1:]:
                value = greenroom_app
                for part in name.split("."):
                    value = getattr(value, part)
                print(int(value))
            """
        let request = ChildRequest(python ?? "", arguments: ["python3", "-c", script] + names)
        let printed = try lines(of: run(request).output)
        let expected = Self.all.filter { $0.python != nil }.map { String($0.swift) }
        #expect(
            zip(names, printed).map { "\($0) \($1)" } == zip(names, expected).map { "\($0) \($1)" })
    }

    private func lines(of output: [UInt8]) -> [String] {
        output.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }
}
