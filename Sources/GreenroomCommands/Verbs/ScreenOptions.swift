import ArgumentParser
import GreenroomControl

/// Options that choose among an app's launch screens.
struct ScreenOptions: ParsableArguments {
    struct OrientationWord: ExpressibleByArgument {
        static let allValueStrings = Control.Orientation.allCases.map { Self.word($0.rawValue) }
        let orientation: Control.Orientation

        init?(argument: String) {
            let word = argument.replacing("-", with: "_")
            guard let orientation = Control.Orientation(rawValue: word) else { return nil }
            self.orientation = orientation
        }

        private static func word(_ name: String) -> String { name.replacing("_", with: "-") }
    }

    struct SizeClassWord: ExpressibleByArgument {
        static let allValueStrings = Control.SizeClass.allCases.map(\.rawValue)
        let sizeClass: Control.SizeClass

        init?(argument: String) {
            guard let sizeClass = Control.SizeClass(rawValue: argument) else { return nil }
            self.sizeClass = sizeClass
        }
    }

    @Option(
        help: ArgumentHelp(
            "The launch screen for this orientation: portrait, portrait-upside-down, "
                + "landscape-left or landscape-right.", valueName: "name"),
        completion: .list(OrientationWord.allValueStrings))
    var orientation: OrientationWord?

    @Option(
        help: ArgumentHelp(
            "The launch screen for this width: compact or regular.", valueName: "name"),
        completion: .list(SizeClassWord.allValueStrings))
    var sizeClass: SizeClassWord?
}
