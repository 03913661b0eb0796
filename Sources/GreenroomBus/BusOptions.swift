/// The command line: either the one that `greenroomctl dbus-service` writes into service files, or
/// the daemon's order to watch names.
public enum BusCommand: Hashable, Sendable {
    case serve(BusOptions)
    case watch

    public init(_ arguments: [String]) throws(BusOptions.UsageError) {
        self = arguments == ["--watch"] ? .watch : .serve(try BusOptions(arguments))
    }
}

/// What to serve, and where the daemon is.
public struct BusOptions: Hashable, Sendable {
    /// The app, whose identifier is the name on the bus.
    public var app: String
    /// The daemon's socket.
    public var socket: String
    /// The command by which the bus would start the app without Greenroom; empty if there is none.
    public var substitute: [String]

    public struct UsageError: Error {
        public let message: String
    }

    public static let usage = "usage: greenroom-bus --socket PATH APP [COMMAND...]\n"

    public init(_ arguments: [String]) throws(UsageError) {
        guard arguments.count >= 3, arguments[0] == "--socket" else {
            throw UsageError(
                message:
                    "started by the message bus, from a file that \"greenroomctl dbus-service\" "
                    + "writes")
        }
        socket = arguments[1]
        app = arguments[2]
        substitute = Array(arguments[3...])
    }
}
