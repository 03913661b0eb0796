import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux

/// The service files by which callers that name enabled apps on the message bus start them through
/// the daemon. An app that is enabled has such a file if its entry says DBusActivatable=true.
///
/// A file that `dbus-service` wrote serves the same callers. It stays when the app is disabled,
/// because its owner asked for it.
struct DesktopServices {
    /// The folder of service files.
    let folder: String

    private func path(of app: String) -> String { "\(folder)/\(app).service" }

    /// Whether nobody else can have put other files in their place. Root may be asked to renew the
    /// copies of others.
    private var isOwn: Bool {
        let parent = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
        return [parent, folder].allSatisfy { path in
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return errno == ENOENT }
            return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
        }
    }

    /// The apps that have a file which `desktop enable` wrote.
    var apps: [String] {
        guard isOwn else { return [] }
        return ((try? FolderContents.names(in: folder)) ?? []).filter { $0.hasSuffix(".service") }
            .map { String($0.dropLast(".service".utf8.count)) }
            .filter { ServiceFile.writer(of: path(of: $0)) == .desktopEnable }.sorted()
    }

    /// Whether `dbus-service` has written the app's file.
    func isOfDBusService(_ app: String) -> Bool {
        ServiceFile.writer(of: path(of: app)) == .dbusService
    }

    /// Makes an app's file, or makes it again. Nobody can call a name that is not one for the bus.
    func write(_ app: String, socket: String, _ changes: inout FileChanges) throws(Failure) {
        guard ServiceFile.isBusName(app), !isOfDBusService(app) else { return }
        guard isOwn else {
            throw .refused(
                "not_own_folder",
                "\(folder) is a link or somebody else's; \"greenroomctl dbus-service \(app) --install "
                    + "--directory DIR\" writes to any folder")
        }
        let path = path(of: app)
        let isLink = FileStatus(ofLink: path) != nil && FileStatus(path: path) == nil
        guard !isLink, ServiceFile.isOurs(path) ?? true else { throw .manifest(.inTheWay(path)) }
        let substitute = ServiceFile.command(ofOthersFor: app)
        if keepsCommand(app, without: substitute) { return }
        try write(file(app, socket, substitute: substitute), &changes)
    }

    /// Whether the app's file keeps a command for the bus that is not found now: the search path of
    /// this process may lack the folder of the other file.
    private func keepsCommand(_ app: String, without substitute: [String]) -> Bool {
        guard substitute.isEmpty, let text = try? SmallFile.text(of: path(of: app)) else {
            return false
        }
        return text.contains("\nExec=/bin/sh -c ")
    }

    private func file(
        _ app: String, _ socket: String, substitute: [String]
    ) throws(Failure) -> ServiceFile {
        // Without this command, the file would keep the bus from starting the app when Greenroom
        // cannot.
        guard (substitute + [socket]).allSatisfy(ServiceFile.canWrite) else {
            throw .refused(
                "unusable_command",
                "the bus has a command with a backslash or a control character")
        }
        return ServiceFile(
            app: app, socket: socket, helper: try HelperProgram.find("greenroom-bus"),
            substitute: substitute, writer: .desktopEnable)
    }

    private func write(_ file: ServiceFile, _ changes: inout FileChanges) throws(Failure) {
        let path = path(of: file.app)
        if (try? SmallFile.text(of: path)) == file.text { return }
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(folder)
            try AppFolderChange.replace(path, with: Array(file.text.utf8))
        }
        changes.add(.written, path)
    }

    /// Removes an app's file if `desktop enable` wrote it.
    func remove(_ app: String, _ changes: inout FileChanges) throws(Failure) {
        let path = path(of: app)
        guard isOwn, ServiceFile.writer(of: path) == .desktopEnable else { return }
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.remove(path)
        }
        changes.add(.removed, path)
    }

    /// Makes an app's file again if the command has changed that it keeps for the bus.
    func renew(_ app: String, _ changes: inout FileChanges) throws(Failure) {
        guard let text = try? SmallFile.text(of: path(of: app)),
            let socket = ServiceFile.socket(in: text)
        else { return }
        let substitute = ServiceFile.command(ofOthersFor: app)
        if keepsCommand(app, without: substitute) { return }
        try write(file(app, socket, substitute: substitute), &changes)
    }

    /// Makes the session's bus read its service files again, if some of them have changed.
    func tellBus(_ changes: FileChanges, _ console: any Console) {
        if changes.changes.contains(where: { $0.path.hasPrefix(folder + "/") }) {
            MessageBus.readFoldersAgain(console)
        }
    }
}
