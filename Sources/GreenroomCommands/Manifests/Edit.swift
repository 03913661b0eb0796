import AppFolders
import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Edit: ManifestVerb {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change an app's manifest with $EDITOR.",
        discussion: """
            Edits a drop-in, override.conf, and checks it together with the other files of the \
            manifest before it installs it. A text with errors is not installed: it is kept in a \
            file whose path is printed, and the exit code is 2.
            """)

    @Argument(help: "The app.", completion: Candidates.apps)
    var app: String

    @Flag(help: "Edit a copy of the whole manifest, or a new manifest if there is none.")
    var full = false

    @Flag(help: "Take the text from standard input.")
    var stdin = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        let name = try full ? manifests.possibleName(app) : manifests.name(app)
        let file = manifests.folders.file(of: name)
        if let file, file.isMasked { throw .manifest(.masked(name.identifier, by: file.main.path)) }
        let folder = full ? manifests.own : "\(manifests.own)/\(name.file).d"
        let destination = full ? "\(folder)/\(name.file)" : "\(folder)/override.conf"
        let draft = "\(folder)/.\(full ? name.file : "override.conf").\(getpid())"
        let former = (try? AppFile.source(destination))?.bytes
        let start = former ?? initialText(file)
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(folder)
            // The file may contain credentials, so the copy has the mode of the original.
            try AppFolderChange.write(
                stdin ? Self.readInput() : start, to: draft,
                like: former != nil ? destination : full ? file?.main.path : nil)
        }
        if !stdin { try Editor.edit(draft) }
        let text = try InstalledManifests.change { () throws(SystemError) in
            try AppFile.source(draft).bytes
        }
        guard text != start, Self.saysSomething(text) || former != nil else {
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.remove(draft)
            }
            AppFolderChange.removeIfEmpty(folder)
            if output.json {
                FileChanges().report(console, json: true)
            } else {
                console.line("\(destination): nothing changed")
            }
            return 0
        }
        guard try isGood(draft, as: destination, name, file, manifests, console) else { return 2 }
        var changes = FileChanges()
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.install(draft, as: destination)
        }
        changes.add(.written, destination)
        manifests.reload(console)
        changes.report(console, json: output.json)
        return 0
    }

    private func initialText(_ file: AppFile?) -> [UInt8] {
        if full, let file, let source = try? AppFile.source(file.main.path) { return source.bytes }
        let text =
            full
            ? "[App]\nExec=\n"
            : "# Extends \(file?.main.path ?? app). See greenroom.app(5).\n"
                + "# A list is appended to the manifest's; an empty KEY= clears that one first.\n\n"
        return Array(text.utf8)
    }

    /// Whether the manifest has no error if the draft takes its place.
    private func isGood(
        _ draft: String, as destination: String, _ name: ManifestName, _ file: AppFile?,
        _ manifests: InstalledManifests, _ console: any Console
    ) throws(Failure) -> Bool {
        var sources: [(place: String, file: String)] = (file?.paths ?? []).map { ($0, $0) }
        if full {
            sources = [(destination, draft)] + sources.dropFirst()
        } else if let index = sources.firstIndex(where: { $0.place == destination }) {
            sources[index].file = draft
        } else {
            // Drop-ins apply in the order of their names.
            let after = sources.dropFirst().firstIndex {
                $0.place.split(separator: "/").last ?? "" > "override.conf"
            }
            sources.insert((destination, draft), at: after ?? sources.count)
        }
        let read = try InstalledManifests.change { () throws(SystemError) in
            var read: [ManifestSource] = []
            for source in sources { read.append(try AppFile.source(source.file)) }
            return read
        }
        let (manifest, diagnostics) = manifests.read(read, name)
        for diagnostic in diagnostics { console.report(diagnostic.description) }
        var isGood = manifest != nil
        if let manifest {
            let faults = manifests.checks.faults(
                of: [.init(manifest: manifest, name: name, sources: read)])
            for fault in faults { console.report(fault.description) }
            isGood = faults.isEmpty
        }
        if !isGood { console.complain("nothing was installed; the text is kept in \(draft)") }
        return isGood
    }

    private static func saysSomething(_ text: [UInt8]) -> Bool {
        String(decoding: text, as: UTF8.self).split(separator: "\n").contains { line in
            guard let first = line.first(where: { $0 != " " && $0 != "\t" }) else { return false }
            return first != "#" && first != ";"
        }
    }

    private static func readInput() throws(SystemError) -> [UInt8] {
        // Opening /dev/stdin would ask for a permission that another user's pipe does not give.
        let copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw SystemError(code: errno, call: "reading standard input") }
        return try ManifestFile.read(FileDescriptor(owning: copy), called: "standard input")
    }
}

/// The user's editor (environ(7)).
enum Editor {
    static func edit(_ path: String) throws(Failure) {
        let variables = Caller.variables
        let chosen = ["SYSTEMD_EDITOR", "VISUAL", "EDITOR"].lazy.compactMap { variables[$0] }
            .first { !$0.isEmpty }
        let searchPath = variables["PATH"] ?? ExecutableInspection.defaultSearchPath
        let editor =
            chosen
            ?? ["editor", "nano", "vim", "vi"].first {
                (try? ExecutableInspection.find($0, in: searchPath)) != nil
            }
        guard let editor else { throw .manifest(.noEditor) }
        // The shell splits an editor with options, as git and others do.
        let status = Caller.run("/bin/sh", ["sh", "-c", "\(editor) \"$1\"", "sh", path])
        guard status == 0 else { throw .manifest(.editorFailed(editor, draft: path)) }
    }
}
