internal import Glibc

/// The command line and the environment of a program of a desktop session.
public struct SessionOptions: Hashable, Sendable {
    /// The daemons' sockets: the user's and the system's, unless others are named.
    public var sockets: [String] = []
    /// Whether shells report the foreground on the message bus.
    var isOnBus = false
    var displays: DisplayNames

    public struct UsageError: Error {
        public let message: String
    }

    public static func usage(of program: SessionProgram) -> String {
        switch program {
        case .foreground:
            """
            usage: greenroom-foreground [--bus] [--socket PATH]...
            Tells greenroomd which app has the foreground of the display that WAYLAND_DISPLAY or DISPLAY
            names, until the display ends. With --bus, programs that call io.greenroom.Foreground on the
            session's message bus say which app that is, until the last of them leaves the bus. PATH is a
            daemon's control socket; without one, your daemon and the system's are told.

            """
        case .launchScreen:
            """
            usage: greenroom-launchscreen [--socket PATH]...
            Shows the launch screens of apps on the display that WAYLAND_DISPLAY or DISPLAY names, until the
            display ends. PATH is a daemon's control socket; without one, it listens to your daemon and
            the system's.

            """
        }
    }

    public init(
        _ arguments: [String], of program: SessionProgram,
        environment: (String) -> String? = Self.variable
    ) throws(UsageError) {
        displays = DisplayNames(environment)
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word == "--bus", program == .foreground {
                isOnBus = true
                continue
            }
            guard word == "--socket", let path = rest.popFirst() else {
                throw UsageError(message: "unknown word, or no path: \(word)")
            }
            sockets.append(path)
        }
        if sockets.isEmpty {
            if let own = environment("XDG_RUNTIME_DIR") {
                sockets.append(own + "/greenroom/control")
            }
            sockets.append("/run/greenroom/control")
        }
    }

    /// The variable's value; nil if it is not set or is empty.
    public static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }
}
