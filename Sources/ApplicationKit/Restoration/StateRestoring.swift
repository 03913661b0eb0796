/// An object whose state is saved and restored with the app's; UIKit's `UIStateRestoring`. Register it under an
/// identifier (``Application/registerObject(_:forStateRestoration:)``). Every method is optional.
@MainActor public protocol StateRestoring: AnyObject {
    func encodeRestorableState(with coder: StateCoder)
    func decodeRestorableState(with coder: StateCoder)
    /// Every object has been decoded.
    func applicationFinishedRestoringState()
}

extension StateRestoring {
    public func encodeRestorableState(with coder: StateCoder) {}
    public func decodeRestorableState(with coder: StateCoder) {}
    public func applicationFinishedRestoringState() {}
}

/// The objects that were registered, as long as somebody else keeps them, in order.
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
