/// The settings of a display that toolkits follow while they run: themes, fonts, scales, outputs.
public final class DisplaySettings {
    public enum Change: Hashable, Sendable {
        case none
        case changed
        /// The scale, the theme or the font is among what has changed.
        case restyled
    }

    private let server: any SettingsServer
    /// The latest that is known.
    public private(set) var lastAppearance: Appearance

    /// A display that the environment names.
    public enum Server: Hashable, Sendable {
        case wayland(path: String)
        case x(display: String, authorityPath: String?)

        /// A compositor starts an X server for the first client that connects to it, and keeps it
        /// as long as the client stays.
        public static func all(of names: DisplayNames = DisplayNames()) -> [Self] {
            if let path = names.waylandPath { return [.wayland(path: path)] }
            return names.xDisplay.map {
                [.x(display: $0, authorityPath: names.authorityPath)]
            } ?? []
        }

        fileprivate func connect() throws(DisplayFailure) -> any SettingsServer {
            switch self {
            case .wayland(let path): return try WaylandSettings(path: path)
            case .x(let text, let authorityPath):
                let (name, authority) = try XName.find(text, authorityPath: authorityPath)
                return try XSettings(name, authority)
            }
        }
    }

    public init(_ server: Server) throws(UnusableSession) {
        do throws(DisplayFailure) {
            self.server = try server.connect()
            lastAppearance = try self.server.appearance()
        } catch {
            throw UnusableSession(error)
        }
    }

    /// Readable when something has happened.
    public var descriptor: CInt { server.descriptor }
    /// Whether `hear` has left something for its next call. The descriptor need not be readable
    /// then.
    public var hasMore: Bool { server.hasMore }

    /// What has changed since the last call.
    ///
    /// - Throws: if the display has ended, or ends this connection.
    public func hear() throws(UnusableSession) -> Change {
        do throws(DisplayFailure) {
            guard try server.hear() else { return .none }
            let former = lastAppearance
            lastAppearance = try server.appearance()
            return lastAppearance == former ? .changed : .restyled
        } catch {
            throw UnusableSession(error)
        }
    }
}

/// A display server that tells its clients of settings.
protocol SettingsServer: AnyObject {
    var descriptor: CInt { get }
    var hasMore: Bool { get }

    /// Reads and handles the messages that have come, at most
    /// `DisplayStream.messageLimit` of them. Returns whether a setting has changed.
    func hear() throws(DisplayFailure) -> Bool

    func appearance() throws(DisplayFailure) -> Appearance
}

/// Settings that programs do not follow in every respect while they run.
public struct Appearance: Hashable {
    var scales: [Double] = []
    /// Names of themes and fonts.
    var names: [String] = []
}

extension SettingsServer {
    /// In milliseconds. Calls of held programs are reported by the same thread.
    static var patience: CInt { 2000 }
}
