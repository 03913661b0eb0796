extension Control {
    /// The interface description, as `GetInterfaceDescription` returns it.
    public static let interfaceText = """
        # Controls Greenroom, the app launch daemon: starts, prewarms, observes and ends apps.
        #
        # Times are in microseconds: ...TimestampUSec on CLOCK_REALTIME, other ...USec durations.
        # Descriptors travel beside a message and are named by their index in it, from 0.
        #
        # Compatibility. Later versions only add: methods, types, errors, parameters that may be left
        # out, members of replies and of errors, words at the end of enumerations. Nothing that is
        # here is removed, renamed, given another type or demanded where it could be left out.
        #  - A client passes over members of a reply, and over words, that it does not know.
        #  - The daemon refuses a parameter that it does not know (InvalidParameter names it): what
        #    is asked for is done, or the client hears that it is not.
        #  - Beside method, parameters, more, oneway and upgrade, members of the message itself are
        #    refused, except those with a reverse-DNS name, which are ignored.
        #  - Describe tells the version, for people, and the features, for programs: words that stay
        #    once they are there. Ask for a feature, not for a version.
        #
        # An app or instance that the client may not observe does not exist for it: the error is
        # that of a name that nobody uses. Who exceeds a limit is told which (LimitExceeded), also
        # where that ends the connection.
        interface io.greenroom.Control

        # Where an instance stands.
        type ExecutionState (
          # No process is left.
          not_running,
          # Runs towards its pause point.
          prewarming,
          # Paused before its main function, never yet launched.
          prewarmed,
          # Asked to run, not ready yet.
          launching,
          # On its way into or out of the front.
          inactive,
          # In front.
          active,
          # Running, not in front.
          background,
          # Frozen.
          suspended,
          # Asked to end, or being ended.
          terminating
        )

        # How a launch was served.
        type LaunchKind (
          # Executed from its file.
          cold,
          # A paused instance went on.
          prewarmed,
          # A suspended instance was thawed.
          resume,
          # It was running and came to the front.
          foreground
        )

        # Why a launch was not served by a paused instance.
        type ColdReason (
          # Its manifest asks for none.
          prewarming_disabled,
          # The program cannot be paused; Explain says why.
          ineligible,
          # None was ready.
          none_ready,
          # What programs read before main differs from the paused instance's environment.
          environment_mismatch,
          # The program, a library of it or its manifest has changed.
          stale,
          # Prewarms or launches of it failed lately.
          back_off,
          # A paused instance was tried and did not start.
          resume_failed,
          # The memory of its paused instances was taken back.
          reclaimed,
          # The caller has what no paused instance can take over: another stack limit or personality,
          # too many descriptors.
          caller_state
        )

        # Why an instance ended.
        type ExitReason (
          # With a status, by SIGHUP, SIGINT, SIGPIPE or SIGTERM, or by a signal that a client had sent to it.
          exited_self,
          # By any other signal that the daemon did not send.
          crashed,
          terminated,
          terminate_timeout,
          force_quit,
          launch_watchdog,
          prewarm_failed,
          prewarm_expired,
          stale,
          reclaimed,
          pool_trimmed,
          resume_failed,
          shutdown,
          spawn_failed,
          unknown,
          conflict,
          dependency_ended,
          watchdog,
          # It held a file lock when it was to be suspended.
          suspended_with_locked_file,
          # The kernel ended it for want of memory; probably, where it does not say whom it ended.
          out_of_memory,
          probably_out_of_memory,
          # Its background time was over and a task of it had not ended.
          background_task_timeout
        )

        # Where a scene of an app stands (UIScene.ActivationState).
        type ActivationState (
          unattached,
          foreground_active,
          foreground_inactive,
          background
        )

        type Scene (session: string, activation: ActivationState)

        # A step of a launch or of a return to the foreground, and its time since the request. Steps
        # below zero were done while the app was prewarmed.
        type LaunchStep (step: string, elapsedUSec: int)

        # How an instance ended. Without status and signal nobody could see it.
        type ExitRecord (
          reason: ExitReason,
          # What it returned, if it returned.
          status: ?int,
          # The signal that ended it, if one did.
          signal: ?int,
          coreDumped: bool,
          # Where it stood before.
          lastState: ?ExecutionState,
          timestampUSec: int
        )

        # One of the further ways to start an app that its desktop entry has.
        type DesktopAction (identifier: string, name: string)

        # What a desktop entry says of an app, beside how it is started.
        type DesktopFacts (
          file: string,
          # Whether menus show it.
          shown: bool,
          # It runs in a terminal.
          terminal: bool,
          dbusActivatable: bool,
          icon: ?string,
          startupWMClass: ?string,
          actions: []DesktopAction
        )

        type AppSummary (
          # In reverse-DNS form, for example org.ffmpeg.ffmpeg.
          identifier: string,
          # For people.
          name: ?string,
          # The file that it executes.
          program: ?string,
          # False: the program cannot be paused and always starts cold.
          eligible: bool,
          # Instances paused now, and how many are wanted.
          prewarmedCount: int,
          prewarmTarget: int,
          # Instances that were launched and have not ended.
          runningCount: int,
          # Of its most recently used running instance.
          state: ExecutionState,
          # Absent where only a desktop entry makes the app.
          manifestFile: ?string,
          desktop: ?DesktopFacts
        )

        type InstanceStatus (
          instance: int,
          app: string,
          state: ExecutionState,
          # When it entered the state.
          sinceTimestampUSec: int,
          # Of its main process, until it has ended.
          processId: ?int,
          # The rest of the launch is absent until it was launched.
          launchIdentifier: ?string,
          kind: ?LaunchKind,
          coldReason: ?ColdReason,
          # From the request to the program's first instruction.
          launchElapsedUSec: ?int,
          attached: bool,
          # Memory, as last measured.
          byteCount: ?int,
          # Once it has ended.
          exit: ?ExitRecord,
          # Of its app, by the daemon, since a client last launched it.
          restartCount: ?int,
          # Of an app with scenes.
          scenes: ?[]Scene,
          # Of an app made with the SDK: its launch, or its latest return to the foreground, step by step.
          steps: ?[]LaunchStep,
          # While it is to be shown.
          launchScreen: ?LaunchScreen,
          # Its open background tasks, by name, and the time that is left for them.
          backgroundTasks: ?[]string,
          backgroundRemainingUSec: ?int
        )

        # Something to know, with a code for programs and a text for people.
        type Note (code: string, text: string)

        # The files and processes that the daemon works with.
        type Surroundings (
          runtimeDirectory: string,
          configurationFile: string,
          # In order of precedence.
          appDirectories: []string,
          shimFile: string,
          spawnerFile: string,
          # Absent while there is none.
          spawnerProcessId: ?int
        )

        type ManifestFault (file: string, line: int, column: int, message: string)

        type LaunchSummary (
          instance: int,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          # 0: a former daemon served it, or no client asked for it.
          elapsedUSec: int,
          timestampUSec: int
        )

        # Whether the daemon keeps an app running.
        type SupervisionStatus (
          # Restart= of its manifest.
          restart: string,
          # Restarts since a client last launched it.
          restartCount: int,
          # From now to its next start by the daemon.
          nextStartUSec: ?int,
          # Why the daemon does not start it any more.
          failed: ?Note
        )

        type EventKind (
          state_changed,
          launched,
          exited,
          reclaimed,
          prewarm_failed,
          crash_looped,
          apps_changed,
          restart_scheduled,
          failed,
          scene_changed,
          slow_step,
          missed_step,
          launch_step,
          pressure_changed,
          # events up to this number are not known any more: ask anew how things stand
          events_lost,
          state_kept,
          state_refused,
          state_deleted,
          # A shell shows the launch screen from the first on, and takes it away at the second. The step
          # says why: firstDraw, active, background (it left the front), ended.
          launch_screen_shown,
          launch_screen_dropped,
          # memory of a suspended instance that was taken out, byteCount of it
          paged_out,
          background_time_expiring,
          task_began,
          task_ended
        )

        # What a shell shows until an app has drawn: a file, as its manifest names it, and since when.
        type LaunchScreen (file: string, shownTimestampUSec: int)

        type Event (
          # Counts the events that this client may see up by one, also over a restart of the daemon.
          # What is missing is told by events_lost.
          sequence: int,
          timestampUSec: int,
          kind: EventKind,
          app: ?string,
          instance: ?int,
          # state_changed
          from: ?ExecutionState,
          to: ?ExecutionState,
          # launched
          launchIdentifier: ?string,
          launchKind: ?LaunchKind,
          coldReason: ?ColdReason,
          # launch_step, launch_screen_shown, launch_screen_dropped: since the request
          elapsedUSec: ?int,
          # exited
          exit: ?ExitRecord,
          # reclaimed
          byteCount: ?int,
          # prewarm_failed, crash_looped, restart_scheduled
          retryAfterUSec: ?int,
          # For people.
          text: string,
          # scene_changed, slow_step, missed_step; state_kept, state_refused, state_deleted (0 is the app's own)
          session: ?string,
          activation: ?ActivationState,
          # slow_step, missed_step, launch_step
          step: ?string,
          # reclaimed, pressure_changed (with app and instance: within its own limit)
          pressure: ?MemoryPressure,
          # launch_screen_shown, launch_screen_dropped
          launchScreen: ?LaunchScreen,
          # task_began, task_ended
          task: ?string,
          outcome: ?TaskOutcome
        )

        # The daemon itself: what it can do, and what it must do without here.
        method Describe() -> (
          version: string,
          processId: int,
          features: []string,
          degraded: []Note,
          surroundings: ?Surroundings,
          # Where it reads manifests, in order of precedence.
          appDirectories: ?[]string,
          # Where it reads desktop entries, in order of precedence.
          desktopDirectories: ?[]string,
          # What its environment has that manifests are read with, as NAME=VALUE.
          environment: ?[]string
        )

        # The installed apps, by identifier.
        method List() -> (apps: []AppSummary)

        # Instances: all, of one app, or one. Ended ones are remembered for a while.
        method Status(app: ?string, instance: ?int) -> (instances: []InstanceStatus)

        # Prepares paused instances of an app; returns when they are paused.
        method Prewarm(app: string, count: ?int) -> (instances: []int)

        # How a client shows the app: chooses among the launch screens of its manifest.
        type Orientation (portrait, portrait_upside_down, landscape_left, landscape_right)
        type SizeClass (compact, regular)

        # A descriptor at a number of the app, 3 or above: an index among those that came with the call.
        type OtherDescriptor (number: int, descriptor: int)

        # What a program has from whoever executes it. It is taken as far as it takes something away
        # from the app, or as any process may do it to itself; the rest has no effect.
        type CallerState (
          # Soft and hard limit of each of the 16 resources in the kernel's order (getrlimit(2)); -1 is none.
          limits: ?[]int,
          nice: ?int,
          # As for ioprio_set(2).
          ioPriority: ?int,
          # CPUs, 32 of them in each number, the first one's bit being the lowest.
          affinity: ?[]int,
          # Numbers of signal(7).
          ignoredSignals: ?[]int,
          blockedSignals: ?[]int,
          # As for personality(2).
          personality: ?int,
          noNewPrivileges: ?bool
        )

        # Launches an app, or brings it to the front if it is running and has single instances.
        # Returns when the program has passed its pause, or was executed.
        method Launch(
          app: string,
          # Behind those of its manifest.
          arguments: ?[]string,
          # The same, where one is not UTF-8: each of them in base64.
          argumentsBase64: ?[]string,
          # Added to the environment.
          environment: ?[string]string,
          # Added to it as well: NAME=VALUE, each in base64.
          environmentBase64: ?[]string,
          # The whole environment instead of the session's, as NAME=VALUE.
          callerEnvironment: ?[]string,
          # The same, where one is not UTF-8: each of them in base64.
          callerEnvironmentBase64: ?[]string,
          workingDirectory: ?string,
          umask: ?int,
          # Not to the front.
          background: ?bool,
          # The app serves this client alone, which waits for its end: always a new instance.
          attached: ?bool,
          # A name for this launch, up to 64 printable ASCII characters: calling again with it
          # returns the same launch.
          launchIdentifier: ?string,
          standardInputDescriptor: ?int,
          standardOutputDescriptor: ?int,
          standardErrorDescriptor: ?int,
          workingDirectoryDescriptor: ?int,
          # Beside the standard ones, at most 40.
          otherDescriptors: ?[]OtherDescriptor,
          # Of 0, 1 and 2: closed for the app, instead of leading to /dev/null.
          closedDescriptors: ?[]int,
          callerState: ?CallerState,
          # The first terminal among the standard descriptors becomes its controlling terminal,
          # with job control as in a shell. It must not be that of another session: a pty is meant.
          terminal: ?bool,
          # One of the actions of its desktop entry instead of the app itself.
          action: ?string,
          orientation: ?Orientation,
          sizeClass: ?SizeClass
        ) -> (
          instance: int,
          processId: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          # True if the launch had been made already.
          repeated: bool,
          elapsedUSec: int
        )

        # The following launch an app made with the SDK for a reason, or tell it when it runs already.
        # They are refused unless the app declares the feature in [Application] of its manifest.

        # Opens URLs (documents: file:///path) with the app that declares their scheme or type by the
        # longest match, or with the one that is named.
        method Open(
          urls: []string,
          app: ?string,
          # The MIME type of all of them, where it is known.
          contentType: ?string,
          sourceApplication: ?string,
          background: ?bool,
          # For the app; the second only if its manifest declares EventAttribution=.
          annotation: ?string,
          eventAttribution: ?string,
          orientation: ?Orientation,
          sizeClass: ?SizeClass
        ) -> (
          app: string,
          instance: int,
          processId: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          repeated: bool,
          elapsedUSec: int
        )

        # A quick action.
        method PerformAction(app: string, action: string, background: ?bool) -> (
          app: string,
          instance: int,
          processId: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          repeated: bool,
          elapsedUSec: int
        )

        # A remote notification, heard in the background; with a response the user tapped on it.
        method Notify(app: string, payload: string, response: ?string) -> (
          app: string,
          instance: int,
          processId: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Goes on with what the user did elsewhere.
        method ContinueActivity(app: string, type: string, title: ?string, webpageURL: ?string) -> (
          app: string,
          instance: int,
          processId: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Other reasons to launch an app in the background.
        type LaunchKey (
          location,
          local_notification,
          newsstand_downloads,
          bluetooth_centrals,
          bluetooth_peripherals,
          cloud_kit_share_metadata
        )

        method Deliver(app: string, key: LaunchKey, values: ?[]string) -> (
          app: string,
          instance: int,
          processId: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Of several apps that open a scheme ("scheme:NAME") or type ("type:TYPE"), the one to use.
        method SetDefaultHandler(app: string, handles: string) -> ()

        type SceneAction (activate, background, disconnect, discard)

        # Without a session, activate opens a new one. Returns when the app has acknowledged.
        method RequestScene(app: string, action: SceneAction, session: ?string) -> (
          instance: ?int,
          state: ?ExecutionState
        )

        # The protected data of a user (the caller's) becomes unavailable, and available again.
        method Lock(user: ?int) -> ()
        method Unlock(user: ?int) -> ()

        # Waits for the end of an instance, named by itself or by its launch.
        method Wait(instance: ?int, launchIdentifier: ?string) -> (
          instance: int,
          app: string,
          exit: ExitRecord
        )

        # The following are about one instance, or about the most recently used one of an app.
        # They return when the instance is in the state that is returned.

        # Brings it to the front.
        method Foreground(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Sends it to the background.
        method Background(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Freezes it; from the front it passes through the background.
        method Suspend(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Thaws it, into the background.
        method Resume(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Asks it to end, and ends it if it does not.
        method Terminate(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Ends it and all its processes at once.
        method Kill(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Sends a signal to the main process of an instance.
        method Signal(instance: int, signal: int) -> ()

        # Reports events as they happen, until the client closes the connection. Must be called
        # with more. The first reply has no event, but the number of the latest: from it on, nothing is
        # missed. With after, the number of the last event that the client knows, what happened since
        # comes first; what of it is not kept any more is told by events_lost.
        method Watch(after: ?int) -> (event: ?Event, latest: ?int)

        # Reads the configuration and all manifests anew. Bad files leave the good ones alone.
        method Reload() -> (loaded: []string, failed: []ManifestFault)

        # Why an app is or is not prewarmed, and how its last launch went.
        method Explain(app: string) -> (
          app: string,
          eligible: bool,
          reasons: []Note,
          prewarmedCount: int,
          prewarmTarget: int,
          prewarmByteCount: ?int,
          retryAfterUSec: ?int,
          lastLaunch: ?LaunchSummary,
          confinement: ?[]string,
          supervision: ?SupervisionStatus
        )

        # Forgets that an app failed, with its latest starts, crashes and failures.
        method ResetFailed(app: string) -> ()

        # A hint that an app will be launched soon (a finger is down on its icon): an instance is
        # prewarmed now if the machine allows, and does not stay long. Returns at once.
        method Prepare(app: string) -> (
          # A paused instance stands there already.
          ready: bool
        )

        # How short memory is.
        type MemoryPressure (none, warning, critical)

        # From the user's request to the first draw of a cold launch, of a prewarmed one, to the
        # foreground from the background, to the end of what the app declared as part of its launch.
        type LaunchMetric (first_draw, optimized_first_draw, resume, extended_launch)

        # How an app ended (MXForegroundExitData, MXBackgroundExitData).
        type MetricExit (
          # By itself with status 0, or because it was asked to.
          normal,
          memory_limit,
          memory_pressure,
          bad_access,
          illegal_instruction,
          # Any other signal or status.
          abnormal,
          watchdog,
          cpu_limit,
          suspended_with_locked_file,
          background_task_timeout
        )

        # The last bucket has no end.
        type HistogramBucket (fromUSec: int, toUSec: ?int, count: int)
        type LaunchHistogram (metric: LaunchMetric, buckets: []HistogramBucket)
        type ExitCount (exit: MetricExit, foreground: int, background: int)

        # What is counted of an app in a time. What did not happen is left out.
        type AppMetrics (
          sinceTimestampUSec: int,
          launches: []LaunchHistogram,
          # For how long its main thread did not answer.
          hangs: []HistogramBucket,
          exits: []ExitCount,
          foregroundUSec: int,
          backgroundUSec: int,
          # Where it was measured.
          peakByteCount: ?int,
          averageSuspendedByteCount: ?int
        )

        type DiagnosticKind (crash, hang, launch)

        type Diagnostic (
          kind: DiagnosticKind,
          timestampUSec: int,
          foreground: bool,
          # Of a crash the reason of its end, of a hang the callback, of a launch its metric.
          reason: string,
          signal: ?int,
          durationUSec: ?int
        )

        # How an app launches and ends, in MetricKit's categories.
        method Metrics(app: string) -> (
          app: string,
          # Since it was first counted, and since its last payload was closed.
          total: AppMetrics,
          current: AppMetrics,
          # Payloads, and diagnostics, that the app has not had.
          undeliveredCount: int,
          diagnostics: []Diagnostic
        )

        # Reports memory pressure as the kernel would, for tests. It falls by itself, none ends it.
        method DebugPressure(level: MemoryPressure) -> ()

        type TaskKind (app_refresh, processing)

        # A pending one waits; for one that is about to run its app is launched.
        type TaskState (pending, launching, running)

        # What became of a run: the app said so; it has no handler; its time was over; it ended.
        type TaskOutcome (succeeded, failed, unhandled, expired, ended)

        # Work that an app has scheduled.
        type ScheduledTask (
          app: string,
          # One of ScheduledTasks= of its manifest.
          identifier: string,
          kind: TaskKind,
          state: TaskState,
          # Not before.
          earliestTimestampUSec: ?int,
          requiresExternalPower: bool,
          requiresNetwork: bool,
          # That runs it, and the time that is left for it.
          instance: ?int,
          remainingUSec: ?int,
          # Why a pending one is not run now.
          hold: ?Note
        )

        # The work that apps, or one of them, have scheduled.
        method Tasks(app: ?string) -> (tasks: []ScheduledTask)

        # For tests: runs a pending task now, whatever holds it; returns when the app was told.
        method DebugRunTask(app: string, identifier: string) -> (
          instance: int,
          state: ExecutionState
        )

        # For tests: lets the time of the app's run, or of its background tasks, end now.
        method DebugExpireTask(app: string) -> (instance: int, state: ExecutionState)

        # No app of that name is installed. The suggestion is similar and is.
        error NoSuchApp (app: string, suggestion: ?string)

        # No instance of that number is known, or none of that app runs.
        error NotRunning (app: ?string, instance: ?int)

        # No launch of that name is known.
        error NoSuchLaunch (launchIdentifier: string)

        # The instance's state does not allow it.
        error IllegalTransition (instance: int, from: ExecutionState, to: ExecutionState)

        # The program cannot be prewarmed; Explain says why.
        error Ineligible (app: string, reason: ?string)

        # It was not done, for a reason of this code.
        error Refused (code: string, reason: string)

        # The client may not do this. What it would need.
        error PermissionDenied (needed: string)

        # The program could not be started: the step that failed and the kernel's error number.
        error SpawnFailed (stage: string, errno: int, reason: string)

        # It failed lately, or its memory was taken back (reclaimed), and it is not tried again yet.
        error BackOff (app: string, retryAfterUSec: int, crashLooping: bool, reclaimed: ?bool)

        # There are as many of these as there may be.
        error LimitExceeded (what: string, limit: int)

        # The daemon is about to end.
        error ShuttingDown ()

        """
}
