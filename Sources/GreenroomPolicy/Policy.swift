/// The core's daemon-wide defaults and limits. A name in brackets is the source of a value: a
/// system that publishes it, or where it was observed. `greenroom.conf` sets some of them
/// (`DaemonConfiguration` has its keys), so this type has its own target: a program that reads the
/// file need not contain the core.
public struct Policy: Hashable, Sendable {
    /// The time from the launch until the ready condition is met (Apple, observed).
    public var launchDeadline: Duration = .seconds(20)
    /// The time from the spawn to the pause point.
    public var pauseDeadline: Duration = .seconds(20)
    /// The time from GO to STARTED.
    public var startDeadline: Duration = .seconds(2)
    /// The time from entering the background to being frozen (Android 14).
    public var backgroundGrace: Duration = .seconds(10)
    /// The time from SIGTERM to SIGKILL (Apple, OpenHarmony).
    public var terminateGrace: Duration = .seconds(5)
    /// The time from an app's acknowledgement of willTerminate to SIGTERM. The app exits by itself
    /// in the meantime.
    public var exitGrace: Duration = .milliseconds(500)
    /// The time from the order to freeze until the instance counts as frozen, if the freezer
    /// reports neither success nor failure. A task in an uninterruptible sleep stops as soon as it
    /// leaves that sleep.
    public var freezeDeadline: Duration = .seconds(2)
    /// The time from one SIGKILL to the next, and how long SIGKILL is repeated after the order to
    /// end. After a minute, only the kernel can help (an uninterruptible sleep).
    public var killRetry: Duration = .seconds(1)
    public var killPersistence: Duration = .seconds(60)
    /// How long a paused instance is kept, ± 10 % (OpenWhisk).
    public var prewarmTimeToLive: Duration = .seconds(600)
    /// All paused instances together, without those held at a window, hold at most this many bytes.
    public var prewarmByteBudget: UInt64 = 1 << 30
    /// All instances held at a window together hold at most this many bytes; with 0, none are held.
    public var windowByteBudget: UInt64 = 512 << 20
    /// The assumed size of a paused instance in bytes, and of one held at a window, before one was
    /// measured.
    public var assumedPrewarmBytes: UInt64 = 16 << 20
    public var assumedWindowBytes: UInt64 = 64 << 20
    /// Whether programs are held only for users who have an active session.
    public var windowNeedsSession = true
    /// How long held programs stay after their user's session has become inactive: longer than a
    /// look at another user's screen.
    public var windowGrace: Duration = .seconds(300)
    /// At most this many instances are on their way to the pause at once.
    public var concurrentPrewarms: Int = 2
    /// The time from a launch to the first refill, unless the app says that it is ready.
    public var refillDelay: Duration = .zero
    /// The number of the machine's processors. With at most two, only one prewarm that nobody waits
    /// for is made at a time while an app starts.
    public var processorCount: Int = 4
    /// The back-off after a failed prewarm or launch doubles from the first value to the cap.
    public var backOffFirst: Duration = .seconds(1)
    public var backOffCap: Duration = .seconds(300)
    /// This many crashes within the window are a crash loop (Android).
    public var crashLoopCount: Int = 2
    public var crashLoopWindow: Duration = .seconds(120)
    /// Whether only the user can launch an app that the user has force-quit (Apple).
    public var forceQuitLasts = true
    /// The time between two reclaims while pressure lasts, so that the first can have an
    /// effect.
    public var reclaimInterval: Duration = .seconds(1)
    /// How long an app is not prewarmed after one of its paused instances was reclaimed.
    public var reclaimPause: Duration = .seconds(30)
    /// At most this many instances exist at once, in total and for each user, and at most this many
    /// that have ended are remembered.
    public var instanceLimit: Int = 2048
    public var instancesPerUser: Int = 2048
    /// The user that the daemon runs as, to whom the shares of users do not apply.
    public var administrator: UInt32 = 0
    public var rememberedExits: Int = 256
    /// From telling an app a step to its acknowledgement, with a warning after half of the time
    /// (Apple, OpenHarmony). Connecting a scene is part of the launch, so there is more time for
    /// it.
    public var stepDeadline: Duration = .seconds(5)
    public var connectDeadline: Duration = .seconds(10)

    /// How long a level of memory pressure lasts after the last report of it.
    public var pressureQuietTime: Duration = .seconds(10)
    /// Whether the shell inspects the machine before a prewarm, and how long the result is valid.
    public var inspectsConditions = false
    public var conditionsLifetime: Duration = .seconds(5)
    /// While the machine's condition does not allow prewarming, the time between two inspections
    /// doubles from the first value to the cap.
    public var conditionsRetryFirst: Duration = .seconds(10)
    public var conditionsRetryCap: Duration = .seconds(300)
    /// From the machine's boot to the first prewarm that no client asked for.
    public var prewarmStartDelay: Duration = .zero
    /// How long a hint is valid.
    public var hintLifetime: Duration = .seconds(30)
    /// Whether the shell looks for file locks before it freezes an instance, and how long an
    /// instance may keep one.
    public var inspectsFileLocks = false
    public var fileLockGrace: Duration = .seconds(5)
    /// An archive, of an app or of a scene, has at most this many bytes.
    public var stateByteLimit: UInt64 = 32 << 10
    /// Whether the memory of suspended instances is paged out.
    public var pagesOutSuspended = false

    /// Whether apps may schedule work.
    public var offersScheduledWork = true
    /// How long background tasks keep an app from being suspended (Apple, observed). The limits of
    /// a run of scheduled work: a refresh (Apple), and processing, “minutes” (Apple).
    public var backgroundTaskLimit: Duration = .seconds(30)
    public var refreshTaskLimit: Duration = .seconds(30)
    public var processingTaskLimit: Duration = .seconds(300)
    /// How long before the end an app is told about it, if the limit is long enough.
    public var expirationLead: Duration = .seconds(5)
    /// Processing begins only if nobody has used an app for this long.
    public var taskIdleTime: Duration = .seconds(60)
    /// The time between two inspections while the machine's condition holds scheduled work.
    public var taskRetry: Duration = .seconds(60)

    public init() {}
}
