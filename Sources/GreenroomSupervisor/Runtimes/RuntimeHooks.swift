internal import Glibc
internal import GreenroomLinux

/// The files that run in interpreters, which lie beside the daemon (`Sources/Runtimes`).
struct RuntimeHooks {
    let folder: String

    /// Why the files of an interpreter cannot be used.
    enum Objection: Error, Equatable {
        case missing(String)
        /// The file cannot be read by the users that apps run as.
        case closed(String)
    }

    /// All files of the daemon's that a prewarm is made from. If one changes, paused instances are
    /// stale.
    ///
    /// - Parameter isOwnUser: whether only the daemon's own user is to read them.
    func files(of runtime: Runtime, isOwnUser: Bool) throws(Objection) -> [InspectedFile] {
        var inspected: [InspectedFile] = []
        for name in runtime.hookFiles {
            let path = path(name)
            guard let identity = FileIdentity(path: path) else { throw .missing(path) }
            let library = name.hasSuffix(".so") ? PreloadLibrary(path: path) : nil
            guard library?.obstacle == nil else { throw .missing(path) }
            guard isOwnUser || Self.isOpen(path) else { throw .closed(path) }
            if let closed = library?.closed, !isOwnUser { throw .closed(closed) }
            inspected.append(InspectedFile(role: .hook, path: path, identity: identity))
        }
        return inspected
    }

    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    private static func isOpen(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// Changes when the set of interpreters that can be used may have changed.
    var fingerprint: [[FileIdentity]] {
        Runtime.allCases.map { runtime in
            let files = try? files(of: runtime, isOwnUser: false)
            return (files ?? []).map(\.identity)
        }
    }
}

extension Runtime {
    /// The files that a prewarm uses, by their path in the folder.
    fileprivate var hookFiles: [String] {
        let shared = ["libgreenroom-runtime.so", "\(rawValue)/placeholder"]
        return switch self {
        case .python: shared + ["python/sitecustomize.py"]
        case .node:
            shared
                + ["greenroom", "learned", "beginning", "compiled", "world", "callers", "requires"]
                .map { "node/\($0).cjs" }
        case .ruby: shared + ["ruby/greenroom.rb"]
        case .perl: shared + ["perl/Greenroom.pm"]
        case .java: ["libgreenroom-jvm.so"]
        case .r: shared + ["r/Rprofile.R"]
        case .emacs: shared + ["emacs/greenroom.el"]
        }
    }
}
