/// Why a display cannot be used.
enum DisplayFailure: Error, CustomStringConvertible {
    /// There is no display, or it lacks what is needed.
    case unusable(String)
    /// The display has ended: the session is over.
    case ended

    var description: String {
        switch self {
        case .unusable(let reason): reason
        case .ended: "the display server has ended"
        }
    }
}

/// Why a program of the session has nothing to do.
public struct UnusableSession: Error, CustomStringConvertible {
    public let description: String

    init(_ failure: some CustomStringConvertible) { description = "\(failure)" }
}

extension XName {
    /// The display that DISPLAY names, and the proof for its server that this client may connect.
    static func find(
        _ text: String, authorityPath: String?
    ) throws(DisplayFailure) -> (XName, XAuthority) {
        guard let name = XName(text) else {
            throw .unusable("DISPLAY=\(text) is not a display of this machine")
        }
        let authority = authorityPath.map { XAuthority(path: $0, display: name) }
        return (name, authority ?? XAuthority(file: [], display: name))
    }
}
