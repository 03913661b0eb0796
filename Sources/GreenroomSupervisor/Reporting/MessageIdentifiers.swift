internal import GreenroomControl
internal import GreenroomLifecycle
internal import Systemd

/// Message identifiers (sd-journal(3), MESSAGE_ID=): one for every kind of start and end, so that
/// programs can find them in the journal. `systemd/greenroom.catalog` explains each of them to
/// people.
extension MessageIdentifier {
    static func launched(_ kind: Control.LaunchKind) -> MessageIdentifier {
        switch kind {
        case .cold: "018b15e9baf744c9b0ff94e30060f0d4"
        case .prewarmed: "683f52c372af4e578575210bc56f32ff"
        case .resume: "7b6741d5ecb340f29e39e951c7414969"
        case .foreground: "c5aedeaafae4410eb869fa89d0084190"
        case .startedAnew: "3c1f6f2e9d6b4f0db6a0a0c57e1f8a42"
        }
    }

    static func ended(_ reason: ExitReason) -> MessageIdentifier {
        MessageIdentifier(stringLiteral: reason.row.message)
    }

    static let prewarmingFailed: MessageIdentifier = "92dae633038d4a8fba01a29086ea7806"
    static let crashLooped: MessageIdentifier = "a594514f44d34ef09c59070dc02774e8"
    static let reclaiming: MessageIdentifier = "4b70b89d5a4742c08cfc72ee9e944d62"
    static let pressureChanged: MessageIdentifier = "7bf537716e5b4169b20e8e564bf72336"
    static let spawnFault: MessageIdentifier = "27590558e760467d929592bf744e0f50"

    static var all: [MessageIdentifier] {
        Control.LaunchKind.allCases.map(launched) + ExitReason.allCases.map(ended)
            + [prewarmingFailed, crashLooped, reclaiming, spawnFault, pressureChanged]
    }
}
