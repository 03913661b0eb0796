internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import GreenroomManifest
internal import UnitFile

/// Reads every manifest of the search path. A bad file is reported and never takes down the good
/// ones; a file in an earlier directory replaces one of the same name in a later one.
struct ManifestDirectories {
    let paths: [String]
    /// Of the daemon: where a bare program name of `Exec=` is looked up.
    let searchPath: [String]

    /// Far above any real machine; a directory with more is a mistake.
    private static let fileLimit = 10_000

    struct Result {
        var manifests: [AppManifest] = []
        var diagnostics: [Diagnostic] = []
        /// Files or directories that could not be read.
        var unreadable: [(path: String, reason: String)] = []
    }

    func read() -> Result {
        var result = Result()
        var seen: Set<String> = []
        for directory in paths {
            for name in names(in: directory, &result) where seen.insert(name).inserted {
                readFile(directory + "/" + name, &result)
            }
        }
        let (unique, duplicates) = AppManifest.withoutDuplicates(result.manifests)
        result.manifests = unique
        result.diagnostics += duplicates
        return result
    }

    private func readFile(_ path: String, _ result: inout Result) {
        let text: String
        do throws(SystemError) {
            text = try SmallFile.text(of: path)
        } catch {
            result.unreadable.append((path, error.description))
            return
        }
        let (manifest, diagnostics) = AppManifest.parse(
            text, file: path, findExecutable: findExecutable)
        result.diagnostics += diagnostics
        if let manifest { result.manifests.append(manifest) }
    }

    private func findExecutable(_ name: String) -> String? {
        for directory in searchPath {
            let path = directory + "/" + name
            if unsafe access(path, X_OK) == 0 { return path }
        }
        return nil
    }

    /// Names of manifest files, sorted; a directory that is not there has none (readdir(3)).
    private func names(in directory: String, _ result: inout Result) -> [String] {
        guard let stream = unsafe opendir(directory) else {
            let code = errno
            if code != ENOENT {
                result.unreadable.append((directory, SystemError.text(of: code)))
            }
            return []
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while names.count < Self.fileLimit, let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name.hasSuffix(AppManifest.fileSuffix), !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}

extension Control.ManifestFault {
    init(_ diagnostic: Diagnostic) {
        self.init(
            file: diagnostic.file, line: diagnostic.position.line,
            column: diagnostic.position.column, message: diagnostic.message)
    }
}
