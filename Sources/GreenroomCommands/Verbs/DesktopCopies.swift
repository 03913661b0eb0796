import AppFolders
import DesktopEntry
import Glibc
import GreenroomControl
import GreenroomLinux

/// Copies of desktop entries that start apps through the daemon, and the links to them in a folder of
/// entries.
struct DesktopCopies {
    /// The folder of entries.
    let entries: String

    /// - Parameter entries: the folder; a shell's completion puts a slash after it.
    init(entries: String) {
        self.entries = "/" + entries.split(separator: "/").joined(separator: "/")
    }

    /// The copies in the folder of this process's user.
    static var own: DesktopCopies {
        DesktopCopies(
            entries: (SearchPath.dataHome(Caller.variables) ?? "/root/.local/share")
                + "/applications")
    }

    /// The folder of data of which `entries` is a part.
    private var data: Substring { entries.lastIndex(of: "/").map { entries[..<$0] } ?? "" }
    private var folder: String { "\(data)/\(DesktopFolders.redirections)" }
    var services: DesktopServices { DesktopServices(folder: data + ServiceFile.folder) }

    private func link(of app: String) -> String { entries + "/" + app + DesktopEntry.fileSuffix }
    private func copy(of app: String) -> String { folder + "/" + app + DesktopEntry.fileSuffix }

    /// The apps that have a copy.
    var apps: [String] { DesktopFolders.redirected(in: entries) }

    /// Makes a copy of an app's entry, or makes it again.
    func write(
        _ app: String, of file: String, _ changes: inout FileChanges
    ) throws(Failure) {
        // The identifier becomes a file's name.
        guard !app.utf8.contains(UInt8(ascii: "/")) else { throw .manifest(.badName(app)) }
        let (link, copy) = (link(of: app), copy(of: app))
        guard !Self.isThere(link) || DesktopFolders.isRedirection(link) else {
            throw .manifest(.inTheWay(link))
        }
        // Somebody may have edited a file that is in the link's place.
        let isFile = try isFile(of: app)
        if isFile, Self.bytes(of: link) != Self.bytes(of: copy) {
            throw .refused(
                "edited",
                "\(link) was edited; \"greenroomctl desktop disable \(app)\" removes it")
        }
        let text = Array(try text(app, file).utf8)
        if Self.bytes(of: copy) != text {
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.makeFolder(entries)
                try AppFolderChange.makeFolder(folder)
                // Outside of the folders of entries, KDE trusts only an entry that is executable.
                try AppFolderChange.replace(copy, with: text, mode: 0o755)
            }
            changes.add(.written, copy)
        }
        let isNew = try InstalledManifests.change { () throws(SystemError) in
            if isFile { try AppFolderChange.remove(link) }
            return try AppFolderChange.link(link, to: copy)
        }
        if isNew { changes.add(.linked, link, to: copy) }
    }

    func remove(_ app: String, _ changes: inout FileChanges) throws(Failure) {
        _ = try isFile(of: app)
        for path in [link(of: app), copy(of: app)] where Self.isThere(path) {
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.remove(path)
            }
            changes.add(.removed, path)
        }
    }

    /// Whether there is a file, or a link of the user's own, in the link's place.
    ///
    /// - Throws: if it starts another app, so that it is the user's own copy of a copy.
    private func isFile(of app: String) throws(Failure) -> Bool {
        let link = link(of: app)
        guard !DesktopFolders.isLink(link), Self.isThere(link) else { return false }
        guard DesktopFolders.redirectedApp(link) == app else { throw .manifest(.inTheWay(link)) }
        return true
    }

    /// Makes the copies again whose entries have changed, and removes those whose entries are gone or
    /// can no longer be copied. A file that is in the place of its link stays as it is. Service files
    /// follow the copies.
    func refresh(_ changes: inout FileChanges, _ console: any Console) {
        let copied = apps.filter { DesktopFolders.isLink(link(of: $0)) }
        let served = services.apps
        guard !copied.isEmpty || !served.isEmpty else { return }
        let known = DesktopFolders(SearchPath.desktop(Caller.variables)).entries
        // The search path of this process may lack the entry's folder.
        func entry(of app: String) -> String? { known[app]?.path ?? original(of: app) }
        refresh(copied, entry, &changes, console)
        let left = Set(served.isEmpty ? [] : apps)
        for app in served {
            do throws(Failure) {
                if !left.contains(app) || isActivatable(app, entry(of: app)) == false {
                    try services.remove(app, &changes)
                } else {
                    try services.renew(app, &changes)
                }
            } catch { console.complain(error.description) }
        }
        services.tellBus(changes, console)
    }

    /// Whether an entry says that the bus starts the app; nil if it cannot be read at the moment.
    private func isActivatable(_ app: String, _ file: String?) -> Bool? {
        guard let file, let bytes = Self.bytes(of: file) else { return nil }
        let locale = Locale(environment: [:])
        return try? DesktopEntry.parse(bytes, identifier: app, file: file, locale: locale)?
            .isDBusActivatable
    }

    private func refresh(
        _ copied: [String], _ entry: (String) -> String?, _ changes: inout FileChanges,
        _ console: any Console
    ) {
        for app in copied {
            do throws(Failure) {
                guard let file = entry(app) else { continue }
                if Self.isGone(file) {
                    try remove(app, &changes)
                    continue
                }
                do throws(Failure) { try write(app, of: file, &changes) } catch {
                    // After other errors, such as a file that is being written, the entry may be
                    // copied again later.
                    if case .control(.refused(let code, _)) = error,
                        ["no_command", "files_in_word"].contains(code)
                    {
                        try remove(app, &changes)
                    }
                    throw error
                }
            } catch { console.complain(error.description) }
        }
    }

    /// The entry of which there is a copy; nil if the copy does not say so.
    private func original(of app: String) -> String? {
        let copy = copy(of: app)
        guard let bytes = Self.bytes(of: copy) else { return nil }
        let entry = try? DesktopEntry.parse(
            bytes, identifier: app, file: copy, locale: Locale(environment: [:]))
        if let file = entry?.original { return file }
        // Former copies name it only in their first line.
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        let (start, end) = ("# " + Self.note(app), Self.noteEnd)
        guard line.hasPrefix(start), line.hasSuffix(end) else { return nil }
        return String(line.dropFirst(start.count).dropLast(end.count))
    }

    /// Whether the file was removed from its folder. If the folder cannot be seen either, its disk may
    /// not be mounted.
    private static func isGone(_ file: String) -> Bool {
        var status = stat()
        guard unsafe lstat(file, &status) != 0, errno == ENOENT,
            let end = file.lastIndex(of: "/")
        else { return false }
        return FileStatus(path: String(file[..<end]))?.kind == .folder
    }

    /// Whether there is a file or a link, even one that leads nowhere.
    private static func isThere(_ path: String) -> Bool {
        FileStatus(path: path) != nil || FileStatus(ofLink: path) != nil
    }

    private static func bytes(of file: String) -> [UInt8]? { try? DesktopFolders.bytes(of: file) }

    private func text(_ identifier: String, _ file: String) throws(Failure) -> String {
        let redirection: Redirection
        let bytes: [UInt8]
        do {
            bytes = try DesktopFolders.bytes(of: file)
            guard
                let entry = try DesktopEntry.parse(
                    bytes, identifier: identifier, file: file,
                    locale: Locale(environment: [:]))
            else {
                throw DesktopEntry.Mistake(line: 1, column: 1, message: "it is not an app's")
            }
            guard entry.redirectedApp == nil else { throw Failure.manifest(.inTheWay(file)) }
            redirection = try Redirection(of: entry)
        } catch let failure as Failure {
            throw failure
        } catch let error as SystemError {
            throw .system(error)
        } catch let mistake as DesktopEntry.Mistake {
            throw .refused("bad_entry", "\(file):\(mistake.line): \(mistake.message)")
        } catch Redirection.Refusal.hasNoCommand {
            throw .refused(
                "no_command",
                "\(file) has no Exec=, so the app is started only over D-Bus; "
                    + "see \"greenroomctl dbus-service\"")
        } catch Redirection.Refusal.actionHasNoCommand(let action) {
            throw .refused(
                "no_command",
                "action \(action) of \(file) has no Exec=, so it is started only over D-Bus; "
                    + "see \"greenroomctl dbus-service\"")
        } catch {
            throw .refused(
                "files_in_word",
                "the Exec= of \(file) has the files to open inside a longer word")
        }
        let note = Self.note(identifier) + file + Self.noteEnd
        let own = try HelperProgram.find("greenroomctl")
        let words =
            [own] + Redirection.verb + [
                identifier, "--before", "\(redirection.before)", "--after", "\(redirection.after)",
                "--",
            ]
        guard let text = redirection.text(bytes, note: note, through: words) else {
            throw .refused("bad_entry", "the Exec= of \(file) cannot be written again")
        }
        return text
    }

    /// The first line of a copy, up to the entry's file and after it.
    private static func note(_ app: String) -> String {
        "Written by greenroomctl; greenroomctl desktop disable \(app) removes this copy and keeps "
    }
    private static let noteEnd = "."
}
