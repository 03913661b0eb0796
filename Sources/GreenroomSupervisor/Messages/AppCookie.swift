/// What an app made with the SDK acknowledges. On the channel that is a number, the cookie of the
/// message that the app was sent.
enum AppCookie: Hashable, Sendable {
    /// A step. The core counts steps from 1, and waits for each.
    case step(UInt64)
    /// A message that the core does not wait for.
    case free(UInt64)
    case launch

    /// Steps have cookies below this one: no instance lives long enough to be told that many.
    private static let firstFree: UInt64 = 1 << 63

    init(_ rawValue: UInt64) {
        self =
            switch rawValue {
            case .max: .launch
            case Self.firstFree...: .free(rawValue - Self.firstFree)
            default: .step(rawValue)
            }
    }

    var rawValue: UInt64 {
        switch self {
        case .step(let cookie): cookie
        case .free(let number): Self.firstFree + number
        case .launch: .max
        }
    }
}
