import AppFolders
import DesktopEntry
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// A desktop program whose first window is measured. Its app has a manifest, or is made only by a
/// desktop entry.
struct WindowProgram {
    let identifier: String
    /// Nil if the app has no manifest.
    let name: ManifestName?
    let command: [String]
    /// The variables of the manifest, each `NAME=value`.
    let variables: [String]
    /// The installed profiles for the command, also those that others replace.
    let profiles: [Profile]
    /// The user it runs as.
    let account: Account

    init(_ text: String, _ manifests: InstalledManifests) throws(Failure) {
        let found: ManifestName?
        do throws(Failure) { found = try manifests.name(text) } catch {
            guard case .manifest(.noManifest) = error, manifests.entries[text] != nil else {
                throw error
            }
            found = nil
        }
        name = found
        var words: [String] = []
        var user: String?
        if let found {
            let file = try manifests.file(found)
            let sources = try InstalledManifests.change { () throws(SystemError) in
                try file.read()
            }
            let (read, diagnostics) = manifests.read(sources, found)
            guard let manifest = read else {
                throw .manifest(.badManifest(diagnostics.map(\.description)))
            }
            guard manifest.kind == .program else {
                throw Self.refusal(
                    "an app made with an SDK pauses by itself, before its windows, so it is not held "
                        + "at its first window")
            }
            identifier = manifest.identifier
            words = manifest.command
            user = manifest.user
            variables = manifest.environment.map(\.description)
        } else {
            identifier = text
            variables = []
        }
        account = try Self.account(user, manifests)
        if words.isEmpty { words = try Self.command(ofEntry: identifier, manifests) }
        do throws(ExecutableError) {
            let searchPath =
                variables.last { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
                ?? Caller.variables["PATH"] ?? ExecutableInspection.defaultSearchPath
            let path = try ExecutableInspection.find(words.first ?? "", in: searchPath)
            command = [path] + words.dropFirst()
        } catch {
            throw Self.refusal(error.description)
        }
        profiles = manifests.allProfiles(for: command, app: identifier)
        // Checked before anything runs: otherwise a browser would be started some fifty times for
        // nothing.
        if let profile = manifests.profiles.forbidding(
            command, paths: [command[0]], app: identifier)
        {
            throw Self.refusal(
                "it is not to be held at its first window: "
                    + "\(profile.reason ?? "") (\(profile.file))")
        }
    }

    private static func account(
        _ user: String?, _ manifests: InstalledManifests
    ) throws(Failure) -> Account {
        let found: Account?
        do throws(SystemError) {
            found = try manifests.account(user ?? String(getuid()))
        } catch {
            throw .system(error)
        }
        guard let account = found else { throw refusal("User=\(user ?? ""): no such user") }
        guard account.user != 0 else {
            throw refusal(
                "it runs as root, whose programs are not held; call this as an ordinary user, or name "
                    + "one with User= in its manifest")
        }
        guard getuid() == 0 || account.user == getuid() else {
            throw refusal("the app runs as \(account.name); measure it as that user, or as root")
        }
        return account
    }

    private static func command(
        ofEntry identifier: String, _ manifests: InstalledManifests
    ) throws(Failure) -> [String] {
        guard let file = manifests.entries[identifier] else {
            throw refusal("it has no Exec= and no desktop entry")
        }
        let found: DesktopEntry?
        do throws(DesktopEntry.Mistake) {
            found = try DesktopFolders.read(file, locale: Locale(environment: Caller.variables))
        } catch {
            throw refusal("\(file.path):\(error.line): \(error.message)")
        }
        guard let entry = found, let command = entry.command, !entry.isTerminal else {
            throw refusal("\(file.path) starts no program with a window")
        }
        do throws(DesktopEntry.Command.Refusal) {
            return try command.arguments(name: entry.name, icon: entry.icon, file: file.path)
        } catch {
            throw refusal("\(file.path): \(error)")
        }
    }

    static func refusal(_ reason: String) -> Failure {
        .control(.refused(code: "not_measurable", reason: reason))
    }
}
