import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux

struct Open: ReasonVerb {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open URLs or documents in the app that declares them.",
        usage: """
            greenroomctl open <url|file>... [--app <app>] [--orientation <name>] [--size-class <name>] \
                [--background] [--json] [--socket <path>]
            greenroomctl open --set-default <app> <scheme:NAME|type:TYPE>
            """,
        discussion: """
            The app is found by the longest match of URLSchemes= and DocumentTypes= in the manifests. \
            If several apps match equally well, --set-default chooses one for good.
            """)

    @Argument(help: "URLs, or paths of documents.", completion: .file())
    var urls: [String]

    @Option(help: "Use this app instead of the one that is found.", completion: Candidates.apps)
    var app: String?

    @Option(help: ArgumentHelp("The MIME type, if the suffix does not tell it.", valueName: "type"))
    var type: String?

    @OptionGroup var screen: ScreenOptions

    @Flag(help: "Launch the app in the background.")
    var background = false

    @Option(
        help: ArgumentHelp(
            "Make this app the default for the scheme or type given as the URL.", valueName: "app"),
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
            // A document that does not exist is an error, which this message explains better than
            // an app could.
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
