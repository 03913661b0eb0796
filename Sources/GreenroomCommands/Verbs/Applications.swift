import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux

// The verbs for apps made with the SDK: why they are launched, and whether protected data is there.

/// A verb that launches an app for a reason, or tells it when it runs already.
protocol ReasonVerb: Verb {
    var output: OutputOptions { get }
    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall
}

extension ReasonVerb {
    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(.application(try call(client)))
        switch reply {
        case .handled(let app, let launched):
            console.write(
                output.json ? Report.json(reply) : Report.launched(launched, app: app))
        case _: if output.json { console.write(Report.json(reply)) }
        }
        return 0
    }
}

struct Open: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open URLs or documents with the app that declares them.",
        usage: """
            greenroomctl open <url|file>... [--app <app>] [--orientation <name>] [--size-class <name>] \
                [--background] [--json] [--socket <path>]
            greenroomctl open --set-default <app> <scheme:NAME|type:TYPE>
            """,
        discussion: """
            The app is found by the longest match of URLSchemes= and DocumentTypes= in the manifests. \
            Of several that match alike, --set-default chooses one for good.
            """)

    @Argument(help: "URLs, or paths of documents.", completion: .file())
    var urls: [String]

    @Option(help: "Not the app that is found, but this one.", completion: Candidates.apps)
    var app: String?

    @Option(help: ArgumentHelp("The MIME type, if the suffix does not say it.", valueName: "type"))
    var type: String?

    @OptionGroup var screen: ScreenOptions

    @Flag(help: "Not to the front.")
    var background = false

    @Option(
        help: ArgumentHelp(
            "Choose this app for the scheme or type named instead of a URL.", valueName: "app"),
        completion: Candidates.apps)
    var setDefault: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    mutating func validate() throws {
        guard setDefault == nil || (urls.count == 1 && app == nil && !background) else {
            throw ValidationError("--set-default takes an app, and scheme:NAME or type:TYPE.")
        }
    }

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        if let setDefault {
            return .setDefaultHandler(app: try client.resolve(setDefault), handles: urls[0])
        }
        for path in urls where !DocumentURL.isURL(path) {
            // Nobody means a document that is not there, and an app could say it less well.
            guard unsafe access(path, F_OK) == 0 else {
                throw .system(SystemError(code: errno, call: "opening", subject: path))
            }
        }
        var call = Control.OpenCall(urls: urls.map(DocumentURL.url))
        if let app { call.app = try client.resolve(app) }
        call.contentType = type ?? MediaTypes.ofAll(call.urls)
        call.isBackground = background
        call.orientation = screen.orientation?.orientation
        call.sizeClass = screen.sizeClass?.sizeClass
        return .open(call)
    }
}

struct Action: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "action",
        abstract: "Perform a quick action of an app.")
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(help: "The action's name, one of QuickActions= in the manifest.") var name: String
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .performAction(app: try client.resolve(app), action: name, isBackground: false)
    }
}

struct NotifyApp: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Deliver a remote notification to an app.")
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(help: "What it is told, JSON as a rule.") var payload: String
    @Option(
        help: ArgumentHelp(
            "What the user chose on it: the app comes to the front.", valueName: "identifier"))
    var response: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .notify(app: try client.resolve(app), payload: payload, response: response)
    }
}

struct Activity: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "activity",
        abstract: "Let an app go on with what the user was doing.")
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(help: "One of UserActivityTypes= in the manifest.") var type: String
    @Option(help: ArgumentHelp("For people.", valueName: "text")) var title: String?
    @Option(help: ArgumentHelp("The same on the web.", valueName: "url")) var webpage: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .continueActivity(
            app: try client.resolve(app), type: type, title: title, webpageURL: webpage)
    }
}

struct Lock: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Make protected data unavailable, as when the screen is locked.")
    @Option(help: ArgumentHelp("Not your own, but that of this user.", valueName: "number"))
    var user: UInt32?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .lock(user: user)
    }
}

struct Unlock: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Make protected data available again.")
    @Option(help: ArgumentHelp("Not your own, but that of this user.", valueName: "number"))
    var user: UInt32?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func call(_ client: ControlClient) throws(Failure) -> Control.ApplicationCall {
        .unlock(user: user)
    }
}

struct Scene: Verb {
    static let configuration = CommandConfiguration(
        commandName: "scene",
        abstract: "Open, hide, close or discard a scene of an app.",
        discussion: """
            Without a session, activate opens a new scene. "status" shows the sessions that are \
            connected.
            """)
    @Argument(help: "The app.", completion: Candidates.apps) var app: String
    @Argument(
        help: "activate, background, disconnect or discard.",
        completion: .list(Control.SceneAction.allCases.map(\.rawValue)))
    var action: SceneWord
    @Argument(help: "The scene's session.") var session: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    struct SceneWord: ExpressibleByArgument {
        let action: Control.SceneAction
        init?(argument: String) {
            guard let action = Control.SceneAction(rawValue: argument) else { return nil }
            self.action = action
        }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(
            .application(
                .scene(app: try client.resolve(app), action.action, session: session)))
        if output.json {
            console.write(Report.json(reply))
        } else if case .changed(let changed) = reply {
            console.line("instance \(changed.instance): \(changed.state.words)")
        }
        return 0
    }
}

/// A path becomes a file URL; what has a scheme stays as it is (RFC 3986, RFC 8089).
enum DocumentURL {
    static func isURL(_ text: String) -> Bool {
        let scheme = text.prefix { $0 != ":" }
        return scheme.count < text.count && scheme.first?.isLetter == true
            && scheme.utf8.allSatisfy {
                0x30...0x39 ~= $0 || 0x61...0x7a ~= $0 | 0x20 || "+-.".utf8.contains($0)
            }
    }

    static func url(_ text: String) -> String {
        if isURL(text) { return text }
        return "file://" + absolute(text).utf8.map(escaped).joined()
    }

    private static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let current = unsafe getcwd(nil, 0) else { return "/" + path }
        defer { unsafe free(current) }
        return unsafe String(cString: current) + "/" + path
    }

    private static func escaped(_ byte: UInt8) -> String {
        let isPlain =
            0x30...0x39 ~= byte || 0x41...0x5a ~= byte || 0x61...0x7a ~= byte
            || "-._~/".utf8.contains(byte)
        if isPlain { return String(UnicodeScalar(byte)) }
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (digits.utf8.count < 2 ? "0" : "") + digits
    }
}
