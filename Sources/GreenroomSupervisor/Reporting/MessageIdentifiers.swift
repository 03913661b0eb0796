internal import GreenroomControl
internal import Systemd

/// Message identifiers (sd-journal(3), MESSAGE_ID=): one for every kind of start and end, so that a
/// machine can ask the journal for them. `systemd/greenroom.catalog` explains each, for people.
extension MessageIdentifier {
    static func launched(_ kind: Control.LaunchKind) -> MessageIdentifier {
        switch kind {
        case .cold: "018b15e9baf744c9b0ff94e30060f0d4"
        case .prewarmed: "683f52c372af4e578575210bc56f32ff"
        case .resume: "7b6741d5ecb340f29e39e951c7414969"
        case .foreground: "c5aedeaafae4410eb869fa89d0084190"
        }
    }

    static func ended(_ reason: Control.ExitReason) -> MessageIdentifier {
        switch reason {
        case .exitedSelf: "f6d0cc68d5d94635a1a403d7b5af819b"
        case .crashed: "9ec335b5d4e4457a815c6e4e8b1a01f4"
        case .terminated: "83c2952752bf46c8ba60ed7dca9adf37"
        case .terminateTimeout: "590d458272f04cce84fb47da801f02e8"
        case .forceQuit: "acb4c97bf5474d5dbe4103fde03e8caa"
        case .launchWatchdog: "9d9cabe8244e44669a69117148123dc5"
        case .prewarmFailed: "2162137a8fc241c0b962d9731059073a"
        case .prewarmExpired: "9e36748b62694add97f8a2f9d79b11c3"
        case .stale: "6e953e9db6314701946ac9a80976afd7"
        case .reclaimed: "136cc69c5b7a42818fb9346d0812210a"
        case .poolTrimmed: "71cda4651b3643d4b8b12cf34b8bdf9b"
        case .resumeFailed: "4431dcbf07f14d60b132ae5d7efa903f"
        case .shutdown: "fb030061b7d249588dc6a6aae46ab9f1"
        case .spawnFailed: "a0353c1a35ea40339a2041d6140038a9"
        case .watchdog: "badbdee148464cf7aede91d70b35e0ea"
        case .unknown: "11b96594216548c9bb0b782d9fc49c97"
        case .suspendedWithLockedFile: "0be804a2fc25404d95ea65c9cc962cb7"
        case .outOfMemory: "a92853444bfa4e11ba58358cc46b170f"
        case .probablyOutOfMemory: "9985e9d9212540cf93a91c77ac90da10"
        case .backgroundTaskTimeout: "dee76f1772f742dc9cfdb343c51aec9d"
        case .dependencyEnded: "ef56e7ea8c0744d18333be13b9cac78e"
        case .conflict: "0933a28d2bd84630bd7d52eee5c77ea9"
        }
    }

    static let prewarmingFailed: MessageIdentifier = "92dae633038d4a8fba01a29086ea7806"
    static let crashLooped: MessageIdentifier = "a594514f44d34ef09c59070dc02774e8"
    static let reclaiming: MessageIdentifier = "4b70b89d5a4742c08cfc72ee9e944d62"
    static let pressureChanged: MessageIdentifier = "7bf537716e5b4169b20e8e564bf72336"
    static let spawnFault: MessageIdentifier = "27590558e760467d929592bf744e0f50"

    static var all: [MessageIdentifier] {
        Control.LaunchKind.allCases.map(launched) + Control.ExitReason.allCases.map(ended)
            + [prewarmingFailed, crashLooped, reclaiming, spawnFault, pressureChanged]
    }
}
