internal import Glibc
internal import GreenroomLinux

/// Why a display cannot be used.
enum DisplayFailure: Error, CustomStringConvertible {
    /// There is no display, or it lacks what is needed.
    case unusable(String)
    /// The display has ended: the session is over.
    case ended
    /// The connection has ended. The display server at that path may be there all the same.
    case lost(path: String)
    /// The server has not answered in time.
    case silent

    var description: String {
        switch self {
        case .unusable(let reason): reason
        case .ended: "the display server has ended"
        case .lost: "the display server has ended the connection"
        case .silent: "the display server does not answer"
        }
    }

    /// Whether the display may be usable later.
    var isTemporary: Bool {
        switch self {
        case .unusable, .ended: false
        case .lost, .silent: true
        }
    }

    /// Whether another start may succeed after this failure of a start. The server may have been about
    /// to end with the session.
    var mayStartLater: Bool { isTemporary && !isEnd }

    /// In milliseconds. A server that is ending may close its clients' connections before its socket.
    private static let endPatience: CInt = 1000

    /// Whether the session is over.
    var isEnd: Bool {
        switch self {
        case .ended: return true
        case .unusable, .silent: return false
        case .lost(let path):
            do throws(SystemError) {
                let socket = try UnixSocket.connect(to: path, .stream)
                // A server that stays waits for this client to say something.
                return try PollEntry.wait(
                    for: socket.descriptor.rawValue, POLLIN, milliseconds: Self.endPatience)
            } catch {
                return error.code == ECONNREFUSED || error.code == ENOENT
            }
        }
    }
}

/// Why a program of the session has nothing to do.
public struct UnusableSession: Error, CustomStringConvertible {
    public let description: String
    /// Whether it may be different when the program is started again.
    let isTemporary: Bool

    init(_ failure: DisplayFailure) {
        self.init("\(failure)", isTemporary: failure.isTemporary)
    }

    init(_ description: String, isTemporary: Bool = false) {
        self.description = description
        self.isTemporary = isTemporary
    }
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
