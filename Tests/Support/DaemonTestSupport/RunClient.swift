/// A client that runs an app in the caller's place. All clients must behave alike.
public enum RunClient: CaseIterable, CustomStringConvertible, Sendable {
    case greenroomctl, greenroomRun

    public var program: String {
        get throws {
            switch self {
            case .greenroomctl: try Programs.client
            case .greenroomRun: try Programs.runner
            }
        }
    }

    /// The command line before the app's name.
    public var words: [String] {
        get throws {
            switch self {
            case .greenroomctl: [try program, "run"]
            case .greenroomRun: [try program]
            }
        }
    }

    public var description: String {
        switch self {
        case .greenroomctl: "greenroomctl run"
        case .greenroomRun: "greenroom-run"
        }
    }
}
