/// An object whose state is saved and restored with the app's; UIKit's `UIStateRestoring`. Register
/// it under an identifier (``Application/registerObject(_:forStateRestoration:)``). Every method is
/// optional.
///
/// Source: <https://developer.apple.com/documentation/uikit/uistaterestoring>
@MainActor public protocol StateRestoring: AnyObject {
    /// Encodes the object's state into `coder`.
    func encodeRestorableState(with coder: StateCoder)
    /// Restores the object's state from `coder`.
    func decodeRestorableState(with coder: StateCoder)
    /// Called when all objects have been decoded.
    func applicationFinishedRestoringState()
}

extension StateRestoring {
    /// Does nothing.
    public func encodeRestorableState(with coder: StateCoder) {}
    /// Does nothing.
    public func decodeRestorableState(with coder: StateCoder) {}
    /// Does nothing.
    public func applicationFinishedRestoringState() {}
}

/// The registered objects in the order of registration. They are held weakly.
@MainActor
struct RestorableObjects {
    private struct Entry {
        let identifier: String
        weak var object: (any StateRestoring)?
    }
    private var entries: [Entry] = []

    subscript(identifier: String) -> (any StateRestoring)? {
        entries.first { $0.identifier == identifier }?.object
    }

    var all: [(identifier: String, object: any StateRestoring)] {
        entries.compactMap { entry in entry.object.map { (entry.identifier, $0) } }
    }

    mutating func register(_ object: any StateRestoring, _ identifier: String) {
        entries.removeAll { $0.identifier == identifier || $0.object == nil }
        entries.append(Entry(identifier: identifier, object: object))
    }
}
