/// A queue, first in, first out, in constant time. An array would move all elements when the first
/// is removed.
struct Fifo<Element> {
    /// The earlier elements, in reverse order.
    private var front: [Element] = []
    private var back: [Element] = []

    private static var keptCapacity: Int { 256 }

    var count: Int { front.count + back.count }
    var isEmpty: Bool { front.isEmpty && back.isEmpty }

    mutating func append(_ element: Element) { back.append(element) }

    mutating func popFirst() -> Element? {
        if front.isEmpty {
            swap(&front, &back)
            front.reverse()
        }
        let element = front.popLast()
        // The memory that a burst took is freed.
        if isEmpty, front.capacity + back.capacity > Self.keptCapacity { (front, back) = ([], []) }
        return element
    }
}
