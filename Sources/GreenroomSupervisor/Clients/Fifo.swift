/// First in, first out, in constant time: an array whose first element is removed moves all the others.
struct Fifo<Element> {
    /// Latest first.
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
        // What a burst took is given back.
        if isEmpty, front.capacity + back.capacity > Self.keptCapacity { (front, back) = ([], []) }
        return element
    }
}
