internal import GreenroomLinux

/// The library that withholds a program's windows (`Sources/CWithhold`). It lies beside the preload
/// shim, and is looked at only for apps with `Depth=window`.
final class WithholdingLibrary {
    let path: String
    private lazy var library = PreloadLibrary(path: path)

    init(beside shimPath: String) {
        let folder = shimPath.utf8.lastIndex(of: UInt8(ascii: "/")).map { shimPath[...$0] } ?? ""
        path = folder + "libgreenroom-withhold.so"
    }

    /// The file that a prewarm is made from; nil if it cannot be preloaded.
    ///
    /// - Parameter isOwnUser: whether only the daemon's own user is to read it.
    func file(isOwnUser: Bool) -> InspectedFile? {
        guard library.obstacle == nil, isOwnUser || library.closed == nil,
            let identity = FileIdentity(path: path)
        else { return nil }
        return InspectedFile(role: .hook, path: path, identity: identity)
    }
}
