internal import GreenroomLifecycle
internal import GreenroomManifest

/// Makes the core's description of an app from its manifest.
extension AppDescription {
    /// The foreground group of a user's session, which is the default of that user's apps.
    static func loginGroup(ofUser user: UInt32) -> String { "user-\(user)" }

    /// - Parameters:
    ///   - user: the user that the app's instances run as.
    ///   - isDesktopApp: whether the app's command is that of a desktop entry. The daemon takes all
    ///     windows of such an app to be in front, unless the manifest says otherwise.
    ///   - key: the key of the environment that instances get if their caller brings none.
    init(
        _ manifest: AppManifest, _ identifier: String, user: UInt32, isDesktopApp: Bool,
        key: EnvironmentKey, isEligible: Bool, isWanted: Bool
    ) {
        self.init(
            identifier: AppIdentifier(identifier),
            prewarmCount: isWanted ? manifest.prewarm.count : 0,
            prewarmOccasion: isWanted ? PrewarmOccasion(manifest.prewarm.occasion) : .never)
        foregroundGroup =
            switch manifest.foregroundGroup {
            case nil: isDesktopApp ? nil : Self.loginGroup(ofUser: user)
            case .session?: Self.loginGroup(ofUser: user)
            case AppManifest.ForegroundGroup.none?: nil
            case .named(let name)?: name
            }
        isSingleInstance = manifest.isSingleInstance
        self.isEligible = isEligible
        suspendsInBackground = manifest.suspendsInBackground
        readyCondition = ReadyCondition(manifest.readyCondition)
        launchDeadline = manifest.launchDeadline
        backgroundGrace = manifest.backgroundGrace
        terminateGrace = manifest.terminateGrace
        prewarmTimeToLive = manifest.prewarm.timeToLive
        environmentKey = key
        supervision = Boxed(manifest.supervision.map(Supervision.init))
        dependencies = Boxed(manifest.dependencies.map(Dependencies.init))
        hasSockets = manifest.socket != nil
        self.user = user
        userLoginGroup = Self.loginGroup(ofUser: user)
        forceQuitLasts = manifest.forceQuitLasts
        // The command may be a script that starts the program in the background and ends.
        leavesRest = manifest.killMode.map { $0 == .process } ?? (isDesktopApp ? true : nil)
        launchScreen = LaunchScreenUse(manifest.launchScreens)
        scheduledTasks = manifest.application.scheduledTasks
        guard manifest.kind == .applicationKit else { return }
        acknowledges = true
        readyCondition = .finishedLaunching
        scenes =
            !manifest.application.hasScenes
            ? .unsupported : manifest.application.hasMultipleScenes ? .multiple : .single
    }
}

extension PrewarmOccasion {
    init(_ occasion: AppManifest.Occasion) {
        switch occasion {
        case .boot: self = .boot
        case .login: self = .login
        case .demand: self = .demand
        case .never: self = .never
        case .auto: self = .auto
        }
    }
}

extension ReadyCondition {
    init(_ condition: AppManifest.ReadyCondition) {
        switch condition {
        case .exec: self = .exec
        case .notify: self = .notify
        case .firstOutput: self = .firstOutput
        case .listening: self = .listening
        }
    }
}
