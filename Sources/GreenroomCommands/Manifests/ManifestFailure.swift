import GreenroomLinux

/// Why a verb that works on files did not succeed.
enum ManifestFailure: CustomStringConvertible {
    case noManifest(String, folders: [String], suggestion: String?)
    case badManifest([String])
    /// A property of a transient app, and what is wrong with it.
    case badProperty(String, String)
    case masked(String, by: String)
    case isTemplate(String)
    /// The manifest has no `[Install]` section.
    case notInstallable(String)
    /// A file is in the place of a link.
    case inTheWay(String)
    case notWritable(SystemError)
    case noEditor
    case badName(String)
    /// The daemon is neither the system's nor the caller's.
    case anothersDaemon(socket: String, user: UInt32)
    case editorFailed(String, draft: String)

    var description: String {
        switch self {
        case .noManifest(let name, _, let suggestion?):
            "there is no manifest \(name).app; did you mean \(suggestion)?"
        case .noManifest(let name, let folders, nil):
            "there is no manifest \(name).app in \(folders.joined(separator: ", ")); "
                + "\"greenroomctl edit --full ID\" makes one"
        case .badManifest(let lines): lines.joined(separator: "; ")
        case .badProperty(let property, let fault): "--property=\(property): \(fault)"
        case .masked(let name, let path):
            "\(name) is masked by \(path); \"greenroomctl unmask \(name)\" undoes that"
        case .isTemplate(let name):
            "\(name) is a template; name an instance of it, such as \(name)1"
        case .notInstallable(let name):
            "\(name) does not say when it starts by itself; add [Install] with WantedBy=boot or "
                + "login, with \"greenroomctl edit \(name)\""
        case .inTheWay(let path): "\(path) is in the way; move it elsewhere first"
        case .notWritable(let error):
            "\(error.description); whoever owns the folder may do this: for the system's apps, root"
        case .badName(let name):
            "\(name) is not the name of an app; give its identifier, such as org.example.app"
        case .anothersDaemon(let socket, let user):
            "\(socket) is the daemon of user \(user), whose files are that user's to change; do it "
                + "as that user"
        case .noEditor: "there is no editor; set EDITOR, or give the text with --stdin"
        case .editorFailed(let editor, let draft):
            "\(editor) failed; nothing was installed, and the text is kept in \(draft)"
        }
    }

    var exitStatus: ExitStatus {
        switch self {
        case .notWritable, .anothersDaemon: .permission
        case .badManifest, .badProperty: .badManifest
        case .noManifest, .masked, .isTemplate, .notInstallable, .inTheWay, .noEditor,
            .editorFailed, .badName:
            .failed
        }
    }
}
