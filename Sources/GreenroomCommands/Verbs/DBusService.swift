import AppFolders
import ArgumentParser
import DesktopEntry
import Glibc
import GreenroomControl
import GreenroomLinux

struct DBusService: Verb {
    static let configuration = CommandConfiguration(
        commandName: "dbus-service",
        abstract: "Let the message bus launch apps by their names.",
        usage: """
            greenroomctl dbus-service <app>... [--install] [--directory <dir>] [--json] [--socket <path>]
            greenroomctl dbus-service <app>... --remove [--directory <dir>] [--json]
            """,
        discussion: """
            Prints D-Bus service files for apps made with the SDK, and for programs whose desktop entry says \
            DBusActivatable=true. Once they are installed, calls of org.freedesktop.Application \
            (Activate, Open, ActivateAction) launch the app, open URLs with it and perform its actions. \
            No process runs until somebody calls.
            """)

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @Flag(help: "Write the files to the folder instead of printing them.")
    var install = false

    @Flag(help: "Remove files that --install wrote.")
    var remove = false

    @Option(
        help: ArgumentHelp(
            "The folder of service files. Default: dbus-1/services below $XDG_DATA_HOME, which is your "
                + "session's.",
            valueName: "dir"), completion: .directory)
    var directory: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    mutating func validate() throws {
        guard !(install && remove) else {
            throw ValidationError("--install and --remove undo each other.")
        }
    }

    /// Removing files does not need the daemon.
    mutating func run() throws {
        Caller.fillStandardDescriptors()
        let console = StandardConsole()
        let code = remove ? removeAll(console) : execute(console)
        if code != 0 { throw ExitCode(code) }
    }

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        var changes = FileChanges()
        for name in apps {
            let app = try client.resolve(name)
            var substitute = ServiceFile.command(ofOthersFor: app)
            if !substitute.allSatisfy(ServiceFile.canWrite) {
                console.complain(
                    "the command that the bus has for \(app) is not kept, because it has a backslash "
                        + "or a control character")
                substitute = []
            }
            let file = ServiceFile(
                app: app, socket: client.path, helper: try HelperProgram.find("greenroom-bus"),
                substitute: substitute)
            try check(file, client)
            guard install else {
                console.write(file.text)
                continue
            }
            let folder = self.folder
            let path = "\(folder)/\(file.name)"
            guard ServiceFile.isOurs(path) ?? true else { throw .manifest(.inTheWay(path)) }
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.makeFolder(folder)
                try AppFolderChange.replace(path, with: Array(file.text.utf8))
            }
            changes.add(.written, path)
        }
        if install {
            MessageBus.readFoldersAgain(console)
            changes.report(console, json: output.json)
        }
        return 0
    }

    /// Checks whether the message bus can call the app.
    private func check(_ file: ServiceFile, _ client: ControlClient) throws(Failure) {
        guard ServiceFile.isBusName(file.app) else {
            throw .control(
                .refused(
                    code: "no_bus_name",
                    reason:
                        "\(file.app) is not a name for the message bus: parts of letters, digits, _ "
                        + "and -, none of which begins with a digit"))
        }
        guard case .listed(let all) = try client.call(.list),
            let app = all.first(where: { $0.identifier == file.app })
        else { throw .control(.noSuchApp(file.app, suggestion: nil)) }
        if app.desktop?.isDBusActivatable == true { return }
        do throws(Failure) {
            // No app has an action without a name, so this only finds out whether the app can have
            // actions.
            _ = try client.call(
                .application(.performAction(app: file.app, action: "", isBackground: true)))
        } catch {
            guard case .control(.refused("not_application_kit", _)) = error else { return }
            throw .control(
                .refused(
                    code: "not_activatable",
                    reason: "\(file.app) is an unmodified program whose desktop entry does not say "
                        + "DBusActivatable=true: nobody calls it on the bus"))
        }
    }

    // MARK: Removing

    private func removeAll(_ console: any Console) -> Int32 {
        var changes = FileChanges()
        do throws(Failure) {
            for app in apps {
                let path = "\(folder)/\(app).service"
                guard let isOurs = ServiceFile.isOurs(path) else { continue }
                guard isOurs else { throw .manifest(.inTheWay(path)) }
                try InstalledManifests.change { () throws(SystemError) in
                    try AppFolderChange.remove(path)
                }
                changes.add(.removed, path)
            }
        } catch {
            console.complain(error.description)
            return error.exitCode
        }
        if !changes.changes.isEmpty { MessageBus.readFoldersAgain(console) }
        changes.report(console, json: output.json)
        return 0
    }

    private var folder: String {
        directory ?? (SearchPath.dataHome(Caller.variables) ?? "/root/.local/share")
            + ServiceFile.folder
    }
}

/// The session's message bus.
enum MessageBus {
    /// Makes the bus read its service files again (`ReloadConfig` of org.freedesktop.DBus). It
    /// watches only folders that existed when it was started, and dbus-broker watches none.
    static func readFoldersAgain(_ console: any Console) {
        let variables = Caller.variables
        let directory = variables["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
        // A bus that is started later reads the files then.
        guard
            variables["DBUS_SESSION_BUS_ADDRESS"] != nil
                || FileStatus(path: directory + "/bus") != nil
        else { return }
        let name = "org.freedesktop.DBus"
        let call = ["--session", "--print-reply", "--dest=\(name)", "/", name + ".ReloadConfig"]
        let calls = [
            ["gdbus", "call", "--session", "--timeout", "10", "--dest", name]
                + ["--object-path", "/org/freedesktop/DBus", "--method", name + ".ReloadConfig"],
            ["busctl", "--user", "--timeout=10", "call", name, "/org/freedesktop/DBus", name]
                + ["ReloadConfig"],
            ["dbus-send", "--reply-timeout=10000"] + call,
        ]
        let path = variables["PATH"] ?? ExecutableInspection.defaultSearchPath
        // None of them limits the time until the bus has accepted them, and the user's daemon has
        // not started before it is told.
        let limit = ["timeout", "10"]
        for words in calls where (try? ExecutableInspection.find(words[0], in: path)) != nil {
            guard let program = try? ExecutableInspection.find(limit[0], in: path) else { break }
            switch Caller.run(program, limit + words, isQuiet: true) {
            case 0: return
            case 124: return tell()  // a silent bus is silent to all of them
            case _: continue
            }
        }
        tell()

        func tell() {
            console.complain(
                "the message bus was not told; it reads the files when it starts, or when it is told "
                    + "to reload its configuration")
        }
    }
}

/// The file from which the message bus knows how to start an app (dbus-daemon(1), "service
/// description file").
struct ServiceFile {
    let app: String
    let socket: String
    let helper: String
    /// The command in the file that the bus would use without this one. It starts the program where
    /// Greenroom cannot, and the helper starts it for calls that it does not know.
    let substitute: [String]

    /// Below a folder of data.
    static let folder = "/dbus-1/services"

    var name: String { app + ".service" }

    /// The verb that has written a file of ours, as the file's first line names it.
    enum Writer: CaseIterable {
        case dbusService, desktopEnable

        fileprivate var mark: String {
            switch self {
            case .dbusService: "# Written by greenroomctl dbus-service;"
            case .desktopEnable: "# Written by greenroomctl desktop enable;"
            }
        }

        fileprivate func removal(of app: String) -> String {
            switch self {
            case .dbusService: "greenroomctl dbus-service \(app) --remove"
            case .desktopEnable: "greenroomctl desktop disable \(app)"
            }
        }
    }

    var writer = Writer.dbusService

    var text: String {
        var lines = ["\(writer.mark) \(writer.removal(of: app)) removes it."]
        if writer == .desktopEnable { lines.append(Self.socketMark + socket) }
        lines += ["[D-BUS Service]", "Name=\(app)", "Exec=\(command)"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Comes before the daemon's socket in the second line of a file that is written again without
    /// the daemon.
    private static let socketMark = "# Socket: "

    static func socket(in text: String) -> String? {
        text.split(separator: "\n").dropFirst().first.flatMap { line in
            line.hasPrefix(socketMark) ? String(line.dropFirst(socketMark.utf8.count)) : nil
        }
    }

    private var command: String {
        let own = [helper, "--socket", socket, app]
        if substitute.isEmpty { return Self.text(own) }
        // The helper may be gone. The script has no variables, because systemd would replace them
        // in the commands that it gets from dbus-broker.
        let script =
            "[ -x \(Self.quoted(helper)) ] && exec \(Self.text(own + substitute)); "
            + "exec \(Self.text(substitute))"
        return Self.text(["/bin/sh", "-c", script])
    }

    private static func text(_ words: [String]) -> String {
        words.map(quoted).joined(separator: " ")
    }

    /// The command of the first file of this name in the folders of data that is not ours; empty if
    /// there is none.
    static func command(ofOthersFor app: String) -> [String] {
        for data in SearchPath.data(Caller.variables) {
            let path = "\(data)\(folder)/\(app).service"
            guard FileStatus(path: path)?.kind == .file, isOurs(path) == false,
                let text = try? SmallFile.text(of: path)
            else { continue }
            return command(in: text)
        }
        return []
    }

    private static func command(in text: String) -> [String] {
        func value(_ key: String) -> String? {
            text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(key + "=") }
                .map { String($0.dropFirst(key.utf8.count + 1)) }
        }
        // A bus of systemd's starts the unit, and the command is often /bin/false.
        if let unit = value("SystemdService") { return ["systemctl", "--user", "start", unit] }
        // The value has the form of a desktop entry's Exec=, without field codes.
        let value = value("Exec")?.replacing("%", with: "%%") ?? ""
        let entry = "[Desktop Entry]\nType=Application\nName=x\nExec=\(value)\n"
        let command = try? DesktopEntry.parse(
            Array(entry.utf8), identifier: "", file: "", locale: Locale(environment: [:]))?.command
        return (try? command?.arguments(name: "", icon: nil, file: "")) ?? []
    }

    /// Nil if there is no file.
    static func isOurs(_ path: String) -> Bool? {
        FileStatus(path: path) == nil ? nil : writer(of: path) != nil
    }

    /// The verb that has written the file at a path; nil if it is not ours.
    static func writer(of path: String) -> Writer? {
        // A pipe might never be written to.
        guard FileStatus(path: path)?.kind == .file, let text = try? SmallFile.text(of: path)
        else { return nil }
        return Writer.allCases.first { text.hasPrefix($0.mark) }
    }

    /// Whether each bus reads a quoted word as it is. A backslash has another meaning for some, and a
    /// command is one line.
    static func canWrite(_ word: String) -> Bool {
        word.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "\\") }
    }

    /// Quotes a word by the bus's rules, which are a shell's: within single quotes, no character is
    /// special.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy {
            ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z")
                || "/._-0123456789".utf8.contains($0)
        }
        return isPlain
            ? word
            : "'"
                + word.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: "'\"'\"'") + "'"
    }

    /// Whether a text is a bus name (D-Bus specification, "Bus names").
    static func isBusName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count > 1 && name.utf8.count <= 255
            && parts.allSatisfy { part in
                guard let first = part.utf8.first else { return false }
                return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
                    && part.utf8.allSatisfy {
                        ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z")
                            || "_-0123456789".utf8.contains($0)
                    }
            }
    }
}
