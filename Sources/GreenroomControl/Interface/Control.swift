/// The control interface, `io.greenroom.Control`: what the daemon and its clients share.
///
/// The daemon decodes a `ControlCall` and answers with a `ControlReply`, a `ControlError` or a
/// `ServiceError`; the client does the reverse. The interface description is the contract, and the
/// tests compare every encoder with it.
public enum Control {
    public static let interfaceName = "io.greenroom.Control"
    static let prefix = "io.greenroom.Control."
}

extension Control {
    /// A word of one of the interface's enumerations, as a daemon sends it. A newer daemon may send
    /// words that this client does not know; they are shown as they are (greenroom-protocol(7),
    /// "Compatibility").
    public enum Word<Known: RawRepresentable<String> & Hashable & Sendable>: Hashable, Sendable {
        case known(Known)
        case newer(String)

        public var known: Known? {
            switch self {
            case .known(let word): word
            case .newer: nil
            }
        }
    }
}

extension Control.Word: RawRepresentable {
    public init(rawValue: String) {
        self = Known(rawValue: rawValue).map { .known($0) } ?? .newer(rawValue)
    }

    public var rawValue: String {
        switch self {
        case .known(let word): word.rawValue
        case .newer(let text): text
        }
    }
}

// Lets a word be compared with a known word directly.
extension Control.Word {
    public static func == (left: Self, right: Known) -> Bool { left.known == right }
    public static func != (left: Self, right: Known) -> Bool { left.known != right }
}

public func == <Known>(left: Control.Word<Known>?, right: Known?) -> Bool {
    left == right.map { .known($0) }
}
