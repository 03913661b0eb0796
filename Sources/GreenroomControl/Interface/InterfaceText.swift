extension Control {
    /// The interface description, as `GetInterfaceDescription` returns it.
    public static let interfaceText = """
        # Controls Greenroom, the app launch daemon: starts, prewarms, observes and ends apps.
        #
        # Times are in microseconds: ...TimestampUSec are times of CLOCK_REALTIME, other ...USec are
        # durations. Descriptors are sent with a message. Their indexes in it, from 0, name them.
        #
        # Compatibility. Later versions only add: methods, types, errors, optional parameters,
        # members of replies and of errors, words at the end of enumerations. Nothing that is
        # here is ever removed, renamed, given another type or, if it was optional, required.
        #  - A client ignores members of a reply that it does not know, and accepts unknown words.
        #  - The daemon refuses a parameter that it does not know (InvalidParameter names it), so
        #    a client learns that the daemon cannot do what it asks for.
        #  - Members of the message itself other than method, parameters, more, oneway and upgrade
        #    are refused, except those with a reverse-DNS name, which are ignored.
        #  - Describe returns the version, for humans, and the features, for programs: words that
        #    are never removed. Look for a feature, not for a version.
        #
        # If a client may not observe an app or instance, that does not exist for it: the error is
        # the same as for an unknown name. A client that exceeds a limit is told which one
        # (LimitExceeded), even if the connection is then closed.
        interface io.greenroom.Control

        # The state of an instance.
        type ExecutionState (
          # It has no process.
          not_running,
          # It runs towards its pause point.
          prewarming,
          # It is paused before its main function, and has not been launched.
          prewarmed,
          # It was launched and is not ready yet.
          launching,
          # It is in the foreground and covered by something (a locked screen, Interrupt), or on its
          # way into or out of the foreground.
          inactive,
          # It is in the foreground.
          active,
          # It runs in the background.
          background,
          # It is frozen.
          suspended,
          # It was asked to end, or is being ended.
          terminating
        )

        # How a launch was served.
        type LaunchKind (
          # The program was executed from its file.
          cold,
          # A paused instance continued.
          prewarmed,
          # A suspended instance was thawed.
          resume,
          # A running instance came to the foreground.
          foreground,
          # A paused interpreter could not go on as the launch, and executed the launch's words in its
          # own process instead.
          started_anew
        )

        # Why a launch was started anew.
        type AnewReason (
          # Options before the program are not those that the interpreter was prewarmed with.
          options,
          # The program is named in a way that only the interpreter's start understands.
          program,
          # A file beside the program has the name of a module that was loaded before the pause.
          hidden_module,
          # Files that were loaded before the pause have changed.
          changed,
          # A variable that was read before the pause has another value.
          environment,
          # The caller ignores a signal that the interpreter handles.
          signals,
          # The launch's program could not be put in place of the one that was prewarmed.
          failed
        )

        # How far an app is prewarmed.
        type PrewarmDepth (
          # Its program is paused before main.
          main,
          # The same, with those libraries open that earlier launches opened after main.
          libraries,
          # Its interpreter has booted, and is paused before it looks at its program.
          runtime,
          # Its program is in its main loop, and its windows are made and not shown.
          window,
          # Its program pauses itself, at a place of its choice.
          declared
        )

        # Why a launch was not served by a paused instance.
        type ColdReason (
          # The app's manifest asks for no paused instances.
          prewarming_disabled,
          # The program cannot be paused; Explain says why.
          ineligible,
          # No paused instance was ready.
          none_ready,
          # Variables that are read before main differ from the paused instance's environment.
          environment_mismatch,
          # The program, one of its libraries or its manifest has changed.
          stale,
          # Prewarms or launches of the app have failed recently.
          back_off,
          # A paused instance was tried and did not continue.
          resume_failed,
          # The memory of the app's paused instances was taken back.
          reclaimed,
          # The caller has a state that a paused instance cannot take over: another stack limit or
          # personality, too many descriptors.
          caller_state,
          # The launch brings arguments, and the paused instance was started without any.
          arguments,
          # The scale of the display, the theme or the font has changed, which the held program
          # does not follow.
          appearance_changed,
          # A file of settings has changed that the held program had read.
          file_changed
        )

        # Why an instance ended.
        type ExitReason (
          # It ended with a status, by SIGHUP, SIGINT, SIGPIPE or SIGTERM, or by a signal that a
          # client had sent to it.
          exited_self,
          # Another signal ended it, which the daemon did not send.
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
          # The kernel killed it because memory was short; "probably" if the kernel does not say
          # which process it killed.
          out_of_memory,
          probably_out_of_memory,
          # Its background time was over, and it had not ended its tasks.
          background_task_timeout
        )

        # The state of a scene (UIScene.ActivationState).
        type ActivationState (
          unattached,
          foreground_active,
          foreground_inactive,
          background
        )

        type Scene (session: string, activation: ActivationState)

        # A step of a launch or of a return to the foreground, and its time since the request. Steps
        # with a negative time were taken while the app was prewarmed.
        type LaunchStep (step: string, elapsedUSec: int)

        # How an instance ended. If status and signal are absent, nobody could read them.
        type ExitRecord (
          reason: ExitReason,
          # The exit status, if it exited.
          status: ?int,
          # The signal that ended it, if one did.
          signal: ?int,
          coreDumped: bool,
          # Its state before it ended.
          lastState: ?ExecutionState,
          timestampUSec: int
        )

        # An additional action of an app's desktop entry.
        type DesktopAction (identifier: string, name: string)

        # What a desktop entry says about an app, except how to start it.
        type DesktopFacts (
          file: string,
          # Whether menus show the app.
          shown: bool,
          # Whether the app runs in a terminal.
          terminal: bool,
          dbusActivatable: bool,
          icon: ?string,
          startupWMClass: ?string,
          actions: []DesktopAction
        )

        type AppSummary (
          # In reverse-DNS form, for example org.ffmpeg.ffmpeg.
          identifier: string,
          # The name for humans.
          name: ?string,
          # The file that the app executes.
          program: ?string,
          # Whether the program can be paused. If not, every launch is cold.
          eligible: bool,
          # How many instances are paused now, and how many the daemon wants to keep paused.
          prewarmedCount: int,
          prewarmTarget: int,
          # Instances that were launched and have not ended.
          runningCount: int,
          # The state of its most recently used running instance.
          state: ExecutionState,
          # Absent if the app comes only from a desktop entry.
          manifestFile: ?string,
          desktop: ?DesktopFacts,
          # Why the app is not installed: its manifest was refused, or is masked. Only with all.
          refusal: ?Note,
          # How far it is prewarmed; absent for an app that is not, or that pauses by itself.
          depth: ?PrewarmDepth,
          # What a launch from the pool saves: by how much its launches were shorter than cold ones.
          # Until both were measured, the time that preparing its latest instance took.
          savedUSec: ?int,
          # Whether savedUSec is that preparing time.
          savingEstimated: ?bool,
          # The file of the profile that chooses the depth; without one, the manifest does.
          profile: ?string
        )

        type InstanceStatus (
          instance: int,
          app: string,
          state: ExecutionState,
          # When it entered the state.
          sinceTimestampUSec: int,
          # Its main process, until that has ended.
          processId: ?int,
          # This and the other members about the launch are absent until it was launched.
          launchIdentifier: ?string,
          kind: ?LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          # The time from the request to the program's first instruction.
          launchElapsedUSec: ?int,
          attached: bool,
          # The memory of a running instance now, or of a paused one when last measured. Absent if
          # unknown, or if more than 64 instances run.
          byteCount: ?int,
          # How it ended, if it has ended.
          exit: ?ExitRecord,
          # How many times the daemon has restarted the app since a client last launched it.
          restartCount: ?int,
          # The scenes of an app with scenes.
          scenes: ?[]Scene,
          # The steps of its launch or of its latest return to the foreground (apps made with an
          # SDK).
          steps: ?[]LaunchStep,
          # The launch screen, while it is to be shown.
          launchScreen: ?LaunchScreen,
          # The names of its open background tasks, and the time that is left for them.
          backgroundTasks: ?[]string,
          backgroundRemainingUSec: ?int,
          # Whether the threads that a paused instance has besides the paused one are frozen until
          # its launch; absent if it has none.
          threadsFrozen: ?bool,
          # How far it was prewarmed; absent if it was not.
          depth: ?PrewarmDepth
        )

        # A fact, with a code for programs and a text for humans.
        type Note (code: string, text: string)

        # The files and processes that the daemon works with.
        type Surroundings (
          runtimeDirectory: string,
          configurationFile: string,
          # In order of precedence.
          appDirectories: []string,
          shimFile: string,
          spawnerFile: string,
          # Absent while no spawner is running.
          spawnerProcessId: ?int
        )

        type ManifestFault (file: string, line: int, column: int, message: string)

        # Who asked for a launch: the process that connected, and the name that it has given itself.
        # If an app asked, its identifier.
        type Caller (userId: int, processId: int, program: ?string)

        type LaunchSummary (
          instance: int,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          # 0 if an earlier daemon served it, or if no client asked for it.
          elapsedUSec: int,
          timestampUSec: int,
          # With environment_mismatch: the variables in which the launch's environment differed from
          # that of the most similar paused instance.
          differingVariables: ?[]string,
          # With caller_state: what of the caller's state no paused instance could take over, if that
          # is known: directory, umask, streams, descriptors, limits, signals, priority, processors,
          # privileges, personality.
          differingState: ?[]string,
          # Absent if the daemon launched it by itself, or if an earlier daemon served it.
          caller: ?Caller,
          # The time from the request until the app was ready.
          readyUSec: ?int,
          # How the instance ended, and how long it ran.
          exit: ?ExitRecord,
          ranUSec: ?int
        )

        # Whether the daemon keeps an app running.
        type SupervisionStatus (
          # Restart= in its manifest.
          restart: string,
          # How many times the daemon has restarted it since a client last launched it.
          restartCount: int,
          # The time from now to its next start by the daemon.
          nextStartUSec: ?int,
          # Why the daemon no longer starts it.
          failed: ?Note,
          # Its user force-quit it (Kill), so only a launch in the foreground starts it.
          forceQuit: ?Note
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
          # Events up to this number are lost; ask for the current state.
          events_lost,
          state_kept,
          state_refused,
          state_deleted,
          # A shell shows the launch screen at the first event and removes it at the second, whose
          # step says why: firstDraw, active, background (the app left the foreground), ended.
          launch_screen_shown,
          launch_screen_dropped,
          # Memory of a suspended instance was paged out; byteCount is the total.
          paged_out,
          background_time_expiring,
          task_began,
          task_ended
        )

        # What a shell shows until an app has drawn: a file that the manifest names, and the time
        # since which it is shown.
        type LaunchScreen (file: string, shownTimestampUSec: int)

        type Event (
          # The number of the event, counted among those that this client may see. It continues
          # after a restart of the daemon. events_lost stands for missing events.
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
          anewReason: ?AnewReason,
          # launched, launch_step, launch_screen_shown, launch_screen_dropped, and state_changed from
          # launching, when the app is ready: the time since the request
          elapsedUSec: ?int,
          # exited
          exit: ?ExitRecord,
          # reclaimed
          byteCount: ?int,
          # prewarm_failed, crash_looped, restart_scheduled
          retryAfterUSec: ?int,
          # The event in words, for humans.
          text: string,
          # scene_changed, slow_step, missed_step; state_kept, state_refused, state_deleted (0 is
          # the app's own state)
          session: ?string,
          activation: ?ActivationState,
          # slow_step, missed_step, launch_step
          step: ?string,
          # reclaimed, pressure_changed (with app and instance: the pressure within its own limit)
          pressure: ?MemoryPressure,
          # launch_screen_shown, launch_screen_dropped
          launchScreen: ?LaunchScreen,
          # task_began, task_ended
          task: ?string,
          outcome: ?TaskOutcome,
          # launched: who asked; absent if the daemon launched the app by itself
          caller: ?Caller,
          # exited: how long it ran after its launch
          ranUSec: ?int
        )

        # Describes the daemon: its features, and facilities that it lacks on this machine.
        method Describe() -> (
          version: string,
          processId: int,
          features: []string,
          degraded: []Note,
          surroundings: ?Surroundings,
          # The directories of manifests, in order of precedence.
          appDirectories: ?[]string,
          # The directories of desktop entries, in order of precedence.
          desktopDirectories: ?[]string,
          # Folders of profiles of desktop programs, in order of precedence.
          profileDirectories: ?[]string,
          # The variables of its environment that matter to manifests, as NAME=VALUE.
          environment: ?[]string
        )

        # Returns the installed apps, sorted by identifier. With all, also returns those that are
        # not installed because their manifest was refused or is masked. With called, returns only
        # installed apps that have this identifier, last component of it, file name of the program,
        # or name.
        method List(all: ?bool, called: ?string) -> (apps: []AppSummary)

        # Returns all instances, those of one app, or one. Ended instances are remembered for a
        # while.
        method Status(app: ?string, instance: ?int) -> (instances: []InstanceStatus)

        # Prepares paused instances of an app. Returns when they have paused.
        method Prewarm(app: string, count: ?int) -> (instances: []int)

        # How a client shows the app. This selects one of the launch screens in the app's manifest.
        type Orientation (portrait, portrait_upside_down, landscape_left, landscape_right)
        type SizeClass (compact, regular)

        # A descriptor for the app at this number, 3 or above: an index into the call's descriptors.
        type OtherDescriptor (number: int, descriptor: int)

        # What a program inherits from its caller. The daemon applies only what restricts the app
        # further, or what any process may do to itself.
        type CallerState (
          # The soft and the hard limit of each of the 16 resources in the kernel's order
          # (getrlimit(2)); -1 means no limit.
          limits: ?[]int,
          nice: ?int,
          # As for ioprio_set(2).
          ioPriority: ?int,
          # The CPUs, 32 in each number, the first one in the lowest bit.
          affinity: ?[]int,
          # Numbers of signals (signal(7)).
          ignoredSignals: ?[]int,
          blockedSignals: ?[]int,
          # As for personality(2).
          personality: ?int,
          noNewPrivileges: ?bool
        )

        # Launches an app. If it may have only one instance and is running, it comes to the
        # foreground. Returns when the instance has left its pause, or when the program was
        # executed.
        method Launch(
          app: string,
          # Arguments that follow those in its manifest.
          arguments: ?[]string,
          # The same, each in base64, if one of them is not UTF-8.
          argumentsBase64: ?[]string,
          # Variables to add to the environment.
          environment: ?[string]string,
          # Further variables to add: NAME=VALUE, each in base64.
          environmentBase64: ?[]string,
          # The whole environment instead of the session's, as NAME=VALUE.
          callerEnvironment: ?[]string,
          # The same, each in base64, if one of them is not UTF-8.
          callerEnvironmentBase64: ?[]string,
          workingDirectory: ?string,
          umask: ?int,
          # Whether to launch it in the background.
          background: ?bool,
          # Whether the app serves only this client, which waits for its end. It gets a new
          # instance.
          attached: ?bool,
          # A name for this launch, up to 64 printable ASCII characters. Another call with this name
          # returns the same launch.
          launchIdentifier: ?string,
          standardInputDescriptor: ?int,
          standardOutputDescriptor: ?int,
          standardErrorDescriptor: ?int,
          workingDirectoryDescriptor: ?int,
          # In addition to the standard descriptors, at most 40.
          otherDescriptors: ?[]OtherDescriptor,
          # Those of 0, 1 and 2 that are closed for the app instead of being /dev/null.
          closedDescriptors: ?[]int,
          callerState: ?CallerState,
          # The first terminal among the standard descriptors becomes its controlling terminal,
          # with job control as in a shell. It must not belong to another session: create a pty.
          terminal: ?bool,
          # An action of its desktop entry to start instead of the app itself.
          action: ?string,
          orientation: ?Orientation,
          sizeClass: ?SizeClass
        ) -> (
          instance: int,
          processId: ?int,
          # The inode of the process's pidfd, to know the process from another that has got its number.
          processInode: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          # Whether an earlier call has made this launch.
          repeated: bool,
          elapsedUSec: int
        )

        # The following methods launch an app made with an SDK for a given reason or, if the app is
        # already running, tell it the reason. They are refused unless its manifest declares the
        # feature in [Application].

        # Opens URLs (documents: file:///path) in the given app, or else in the app whose manifest
        # declares their scheme or type with the longest match.
        method Open(
          urls: []string,
          app: ?string,
          # The MIME type of all of them, if it is known.
          contentType: ?string,
          sourceApplication: ?string,
          background: ?bool,
          # Texts for the app; the second only if its manifest declares EventAttribution=.
          annotation: ?string,
          eventAttribution: ?string,
          orientation: ?Orientation,
          sizeClass: ?SizeClass
        ) -> (
          app: string,
          instance: int,
          processId: ?int,
          processInode: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Performs a quick action.
        method PerformAction(app: string, action: string, background: ?bool) -> (
          app: string,
          instance: int,
          processId: ?int,
          processInode: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Delivers a remote notification to the app in the background. With a response, the user has
        # tapped on it.
        method Notify(app: string, payload: string, response: ?string) -> (
          app: string,
          instance: int,
          processId: ?int,
          processInode: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Makes the app continue what the user was doing elsewhere.
        method ContinueActivity(app: string, type: string, title: ?string, webpageURL: ?string) -> (
          app: string,
          instance: int,
          processId: ?int,
          processInode: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Other reasons to launch an app. A local notification that the user has tapped on, and a
        # share that the user has accepted, launch it in the foreground, others in the background.
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
          processInode: ?int,
          launchIdentifier: string,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          repeated: bool,
          elapsedUSec: int
        )

        # Sets the app to use if several can open a scheme ("scheme:NAME") or type ("type:TYPE").
        method SetDefaultHandler(app: string, handles: string) -> ()

        type SceneAction (activate, background, disconnect, discard)

        # Without a session, activate opens a new scene. Returns when the app has acknowledged.
        method RequestScene(app: string, action: SceneAction, session: ?string) -> (
          instance: ?int,
          state: ?ExecutionState
        )

        # Makes the protected data of a user (default: the caller) unavailable, and available again.
        method Lock(user: ?int) -> ()
        method Unlock(user: ?int) -> ()

        # Reports which app has the foreground of a shell's display. The app is given by one of its
        # processes, by the instance, or by its identifier alone, in which case all of its instances
        # count as in front. Without a parameter, no app has the foreground. Only apps of the
        # caller's user can be reported; if it is none of them, the reply has no app. Each report
        # replaces the connection's former one, and the last one holds until the connection ends.
        method ReportForeground(app: ?string, instance: ?int, processId: ?int) -> (
          app: ?string,
          instance: ?int
        )

        # Waits for the end of an instance, given by its number or by its launch.
        method Wait(instance: ?int, launchIdentifier: ?string) -> (
          instance: int,
          app: string,
          exit: ExitRecord
        )

        # The following methods act on one instance, or on the most recently used one of an app.
        # Each returns once the instance is in the returned state.

        # Brings an instance to the foreground.
        method Foreground(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Sends an instance to the background.
        method Background(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Freezes an instance. If it is in the foreground, it passes through the background.
        method Suspend(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Thaws an instance, which is then in the background.
        method Resume(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Says that something covers an instance that is in the foreground: a call, a dialog of the
        # system, the app switcher. The instance becomes inactive until EndInterruption, or until it
        # goes to the background or is asked to come to the foreground.
        method Interrupt(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Says that nothing covers the instance any more. It becomes active again, unless the session
        # of its user is locked.
        method EndInterruption(app: ?string, instance: ?int) -> (
          instance: int,
          state: ExecutionState
        )

        # Asks an instance to end, and kills it if it does not.
        method Terminate(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Kills all processes of an instance at once, because the user force-quits the app.
        method Kill(app: ?string, instance: ?int) -> (instance: int, state: ExecutionState)

        # Sends a signal to the main process of an instance.
        method Signal(instance: int, signal: int) -> ()

        # Reports events as they happen, until the client closes the connection. Must be called with
        # more. The first reply has the number of the latest event instead of an event; the client
        # gets every event after that. With after, the number of the last event that the client
        # knows, the events since then come first; events_lost stands for those that are no longer
        # kept. With own, the client gets only events of its own user's apps, even if it may observe
        # others.
        method Watch(after: ?int, own: ?bool) -> (event: ?Event, latest: ?int)

        # Reads the configuration and all manifests again. A file with errors does not affect
        # others. warnings has what is ignored in manifests that were read now.
        method Reload() -> (
          loaded: []string,
          failed: []ManifestFault,
          warnings: ?[]ManifestFault
        )

        # A manifest as it would be installed: its file's name (ID.app), and the texts from which it
        # is read, the manifest first and then its drop-ins. Messages use the name of each file.
        type ManifestDraft (name: string, sources: [](file: string, text: string))

        # Checks whether Reload would install these manifests, at most 16. Installs none of them.
        method Verify(manifests: []ManifestDraft) -> (failed: []ManifestFault)

        # Explains why an app is or is not prewarmed, and how its last launch went.
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
          supervision: ?SupervisionStatus,
          # How far it is prewarmed; absent for an app that is not, or that pauses by itself.
          depth: ?PrewarmDepth,
          # How many launches were started anew; absent if none was.
          startedAnewCount: ?int,
          # Its rank, if past launches decide whether it is kept warm (When=auto) and it has any.
          rank: ?PlannedApp
        )

        # What a plan says about an app.
        type PlanVerdict (
          # It stays warm.
          keep,
          # It is prepared.
          prepare,
          # It would be next if there were more room.
          no_room,
          # Keeping it warm would cost more than it is expected to save.
          not_worth_it
        )

        # A reason to expect that an app will be launched next.
        type PlanTerm (
          # How many other apps were launched since its last launch.
          recency,
          # How often it was launched; recent launches count more than old ones.
          frequency,
          # How often it followed the app that was launched last.
          follows,
          # How often it followed the last two apps, in their order.
          follows_two,
          # How often it was launched at this hour, and on this day of the week.
          hour,
          weekday,
          # How often it was launched first after a time without launches.
          begins
        )

        # What a term adds to the probability that an app is launched next.
        type TermShare (
          term: PlanTerm,
          probability: float,
          # The natural logarithm of the probability, or of 0.0001 if that is more, for clients of
          # earlier versions.
          logarithm: float
        )

        type PlannedApp (
          app: string,
          # The user that the app runs as.
          userId: int,
          verdict: PlanVerdict,
          # An instance is paused.
          warm: bool,
          # The probability that the user launches this app next: the sum of the terms.
          probability: float,
          # The average of this probability over the last launches.
          usualProbability: float,
          terms: []TermShare,
          # What a launch from the pool saves, by the latest launches and paused instances.
          savedUSec: int,
          # The value of keeping it warm until the next plan: the saving times its probability,
          # minus the price of its memory and, if it is not warm, of preparing it.
          valueUSec: int,
          byteCount: int
        )

        # Makes a plan as the daemon does after launches, and returns what it says about the
        # caller's apps, or one of them, those with the most value for each byte first, at most 100; to
        # root and the daemon's user, about everybody's. Apps that were never launched have no rank.
        method Plan(app: ?string) -> (
          # The bytes for apps with When=auto: the budget minus what other apps hold; for anybody
          # but root and the daemon's user, the whole budget.
          byteBudget: int,
          # The memory of those apps in the plan that the reply is about.
          byteCount: int,
          # A battery feeds the machine, so preparing costs more.
          onBattery: bool,
          # The caller's user has turned the history off (KeepHistory), so nothing of the user's is
          # planned.
          off: bool,
          apps: []PlannedApp
        )

        # Forgets an app's failure, and its latest starts, crashes, failed launches and prewarms.
        method ResetFailed(app: string) -> ()

        # Forgets the imports that were learned from launches of the app.
        method ForgetImports(app: string) -> ()

        # Tells the daemon that an app will probably be launched soon (a finger is on its icon). An
        # instance is prewarmed now if the machine allows, and is not kept long. Returns at once.
        method Prepare(app: string) -> (
          # Whether an instance is paused already.
          ready: bool
        )

        # A launch of the history.
        type LaunchRecord (
          app: string,
          # The user that the app runs as.
          userId: int,
          instance: int,
          # Empty if an app asked for it.
          launchIdentifier: string,
          # Absent if the daemon launched it by itself.
          caller: ?Caller,
          kind: LaunchKind,
          coldReason: ?ColdReason,
          anewReason: ?AnewReason,
          requestTimestampUSec: int,
          # The time from the request to the program's first instruction; or to the answer, if the
          # instance ran already.
          elapsedUSec: ?int,
          # The time from the request until the app was ready.
          readyUSec: ?int,
          # How the instance ended. Absent while it runs; its timestamp is 0 if no daemon saw the
          # end.
          exit: ?ExitRecord,
          ranUSec: ?int
        )

        # Returns recorded launches, the latest first, at most 100 at a time: launches of the
        # caller's apps, and launches that the caller's user asked for; to root and the daemon's user,
        # everybody's.
        method History(
          # Identifiers, or patterns as in glob(7).
          apps: ?[]string,
          sinceTimestampUSec: ?int,
          untilTimestampUSec: ?int,
          limit: ?int,
          # Only launches before this one: next of an earlier reply.
          before: ?int
        ) -> (
          launches: []LaunchRecord,
          next: ?int,
          # The caller's user has turned the history off (KeepHistory).
          off: bool
        )

        # A paused instance of the past.
        type PauseRecord (
          app: string,
          # The user that the app runs as.
          userId: int,
          instance: int,
          # From its pause to its launch, or to its end.
          pausedTimestampUSec: int,
          untilTimestampUSec: int,
          # The time from its spawn to its pause; absent if an earlier daemon prepared it.
          preparationUSec: ?int,
          # The processor time that its main process had used when it was paused.
          processorUSec: ?int,
          byteCount: int,
          # How it served a launch; absent if it ended without one.
          kind: ?LaunchKind,
          # How far it was prepared; absent if it paused by itself, or if an earlier version kept it.
          depth: ?PrewarmDepth
        )

        # Returns records of paused instances of the caller's apps (to root and the daemon's user, of
        # everybody's), the latest first, at most 100 at a time: those whose pause ended at or after
        # since, and began at or before until.
        method PauseHistory(
          # Identifiers, or patterns as in glob(7).
          apps: ?[]string,
          sinceTimestampUSec: ?int,
          untilTimestampUSec: ?int,
          limit: ?int,
          # next of an earlier reply.
          before: ?int
        ) -> (
          pauses: []PauseRecord,
          next: ?int,
          # As in the reply to History.
          off: bool
        )

        # Forgets the launches of one of the caller's apps (an identifier or a pattern), or of all.
        method ForgetHistory(app: ?string) -> (count: int)

        # Turns the history of the caller's user off, or on again. While it is off, launches and
        # paused instances of the user's apps are not recorded, and no plan has these apps. What was
        # recorded before stays until it is forgotten. Only root and the daemon's user may name another
        # user.
        method KeepHistory(on: bool, user: ?int) -> ()

        # How short memory is.
        type MemoryPressure (none, warning, critical)

        # The time from the user's request to: the first draw of a cold launch; the first draw of a
        # prewarmed launch; the return from the background to the foreground; the end of work that
        # the app has declared as part of its launch.
        type LaunchMetric (first_draw, optimized_first_draw, resume, extended_launch)

        # How an app ended (MXForegroundExitData, MXBackgroundExitData).
        type MetricExit (
          # It ended by itself with status 0, or because it was asked to.
          normal,
          memory_limit,
          memory_pressure,
          bad_access,
          illegal_instruction,
          # It ended by any other signal or status.
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

        # Launches from the pool at a depth, and the time that they have saved: what preparing their
        # instances took.
        type DepthSaving (
          depth: PrewarmDepth,
          launchCount: int,
          savedUSec: int
        )

        # What was counted for an app in a span of time. Counts of 0 are left out.
        type AppMetrics (
          sinceTimestampUSec: int,
          launches: []LaunchHistogram,
          # How long its main thread did not answer.
          hangs: []HistogramBucket,
          exits: []ExitCount,
          # Absent if there was no launch from the pool.
          savings: ?[]DepthSaving,
          foregroundUSec: int,
          backgroundUSec: int,
          # Absent if it was not measured.
          peakByteCount: ?int,
          averageSuspendedByteCount: ?int
        )

        type DiagnosticKind (crash, hang, launch)

        type Diagnostic (
          kind: DiagnosticKind,
          timestampUSec: int,
          foreground: bool,
          # The reason of the end (crash), the callback (hang), or the metric (launch).
          reason: string,
          signal: ?int,
          durationUSec: ?int
        )

        # Returns how an app launches and ends, in MetricKit's categories.
        method Metrics(app: string) -> (
          app: string,
          # total: since the first count; current: since the last payload was closed.
          total: AppMetrics,
          current: AppMetrics,
          # The payloads and diagnostics that the app has not received yet.
          undeliveredCount: int,
          diagnostics: []Diagnostic
        )

        # Reports memory pressure as the kernel would, for tests. The level falls by itself; none
        # ends it.
        method DebugPressure(level: MemoryPressure) -> ()

        type TaskKind (app_refresh, processing)

        # A pending task waits; launching means that its app is being launched for it.
        type TaskState (pending, launching, running)

        # How a run ended: the app reported its success or failure; the app has no handler; the time
        # was over; the app ended.
        type TaskOutcome (succeeded, failed, unhandled, expired, ended)

        # Work that an app has scheduled.
        type ScheduledTask (
          app: string,
          # One of ScheduledTasks= in its manifest.
          identifier: string,
          kind: TaskKind,
          state: TaskState,
          # The earliest time at which it may begin.
          earliestTimestampUSec: ?int,
          requiresExternalPower: bool,
          requiresNetwork: bool,
          # The instance that runs it, and the time that is left for it.
          instance: ?int,
          remainingUSec: ?int,
          # Why a pending task is not run now.
          hold: ?Note
        )

        # Returns the work that all apps, or one app, have scheduled.
        method Tasks(app: ?string) -> (tasks: []ScheduledTask)

        # For tests: runs a pending task now, whatever its conditions. Returns when the app has been
        # told.
        method DebugRunTask(app: string, identifier: string) -> (
          instance: int,
          state: ExecutionState
        )

        # For tests: makes the time of the app's run, or of its background tasks, run out now.
        method DebugExpireTask(app: string) -> (instance: int, state: ExecutionState)

        # No app of that name is installed. The suggestion is a similar name of an installed app.
        error NoSuchApp (app: string, suggestion: ?string)

        # No instance with that number is known, or no instance of that app is running.
        error NotRunning (app: ?string, instance: ?int)

        # No launch with that identifier is known.
        error NoSuchLaunch (launchIdentifier: string)

        # The instance's state does not allow the change.
        error IllegalTransition (instance: int, from: ExecutionState, to: ExecutionState)

        # The program cannot be prewarmed; Explain says why.
        error Ineligible (app: string, reason: ?string)

        # The daemon did not do what was asked, for the reason with this code.
        error Refused (code: string, reason: string)

        # The client may not do this. needed says which right is needed.
        error PermissionDenied (needed: string)

        # The program could not be started. stage is the step that failed, errno the kernel's error.
        error SpawnFailed (stage: string, errno: int, reason: string)

        # The app has failed recently, or its memory was taken back (reclaimed). The daemon does not
        # try again yet.
        error BackOff (app: string, retryAfterUSec: int, crashLooping: bool, reclaimed: ?bool)

        # A limit is reached. what says what is limited, for example instances.
        error LimitExceeded (what: string, limit: int)

        # The daemon is about to end.
        error ShuttingDown ()

        """
}
