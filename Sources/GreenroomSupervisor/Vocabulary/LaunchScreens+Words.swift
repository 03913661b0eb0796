internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest

// Translates between the words for launch screens of manifests, of the interface and of the core.

extension LaunchScreenUse {
    init(_ screens: AppManifest.LaunchScreens?) {
        switch screens?.end {
        case nil: self = .none
        case .active?: self = .untilActive
        case .firstDraw?: self = .untilFirstDraw
        }
    }
}

extension LaunchScreenFinding {
    /// The finding for a reader of manifests that installs the app whatever its launch screens are.
    var forLoading: LaunchScreenFinding {
        switch self {
        case .doubt, .unusable: self
        case .fault(let text): .unusable(text)
        }
    }
}

extension AppManifest.LaunchScreenHints {
    init(_ orientation: Control.Orientation?, _ sizeClass: Control.SizeClass?) {
        self.init()
        self.orientation = orientation.map(AppManifest.Orientation.init)
        self.sizeClass = sizeClass.map(AppManifest.SizeClass.init)
    }
}

extension AppManifest.Orientation {
    init(_ orientation: Control.Orientation) {
        switch orientation {
        case .portrait: self = .portrait
        case .portraitUpsideDown: self = .portraitUpsideDown
        case .landscapeLeft: self = .landscapeLeft
        case .landscapeRight: self = .landscapeRight
        }
    }
}

extension AppManifest.SizeClass {
    init(_ sizeClass: Control.SizeClass) {
        switch sizeClass {
        case .compact: self = .compact
        case .regular: self = .regular
        }
    }
}
