/// First in, first out, in constant time: an array whose first element is removed moves all the others.
struct Fifo<Element> {
    /// Latest first.
    private var front: [Element] = []
    private var back: [Element] = []

    var count: Int { front.count + back.count }
    var isEmpty: Bool { front.isEmpty && back.isEmpty }

    mutating func append(_ element: Element) { back.append(element) }

    mutating func popFirst() -> Element? {
        if front.isEmpty {
            swap(&front, &back)
            front.reverse()
        }
        return front.popLast()
    }
}
