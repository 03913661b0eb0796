import ArgumentParser
import GreenroomControl

/// How the app is shown: which of its launch screens is meant.
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
            "Its launch screen is that of this orientation: portrait, portrait-upside-down, "
                + "landscape-left or landscape-right.", valueName: "name"),
        completion: .list(OrientationWord.allValueStrings))
    var orientation: OrientationWord?

    @Option(
        help: ArgumentHelp(
            "The same by the width there is: compact or regular.", valueName: "name"),
        completion: .list(SizeClassWord.allValueStrings))
    var sizeClass: SizeClassWord?
}
