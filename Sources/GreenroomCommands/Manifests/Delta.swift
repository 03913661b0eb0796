import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest
import Varlink

struct Delta: ManifestVerb {
    static let configuration = CommandConfiguration(
        commandName: "delta",
        abstract: "Show which manifests are masked, overridden or extended, and by what.")

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    /// The words of systemd-delta(1).
    enum Kind: String { case masked, equivalent, overridden, extended }

    struct Difference: ParametersEncodable {
        var kind: Kind
        /// The file that counts, and the file that it hides or extends.
        var path: String
        var other: String

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("kind", kind.rawValue)
            writer.member("path", path)
            writer.member("other", other)
        }
    }

    struct Differences: ParametersEncodable {
        var all: [Difference] = []
        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("differences", objects: all)
        }
    }

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        var differences = Differences()
        for name in manifests.folders.files {
            guard let file = manifests.folders.file(of: name) else { continue }
            differences.all += Self.differences(file)
        }
        if output.json {
            console.write(Report.json(differences))
            return 0
        }
        for one in differences.all {
            let kind = "[\(one.kind.rawValue.uppercased())]"
            let padding = String(repeating: " ", count: 13 - kind.count)
            console.line("\(kind)\(padding)\(one.path) -> \(one.other)")
        }
        if differences.all.isEmpty {
            console.line("No manifest is masked, overridden or extended.")
        }
        return 0
    }

    private static func differences(_ file: AppFile) -> [Difference] {
        let path = file.main.path
        let hidden = file.hidden.map { other in
            Difference(
                kind: file.isMasked ? .masked : isEqual(path, other) ? .equivalent : .overridden,
                path: path, other: other)
        }
        let mask =
            file.isMasked && hidden.isEmpty
            ? [Difference(kind: .masked, path: path, other: "nothing")] : []
        return mask + hidden
            + file.dropIns.map { Difference(kind: .extended, path: $0.path, other: path) }
    }

    private static func isEqual(_ path: String, _ other: String) -> Bool {
        guard let first = try? AppFile.source(path), let second = try? AppFile.source(other) else {
            return false
        }
        return first.bytes == second.bytes
    }
}
