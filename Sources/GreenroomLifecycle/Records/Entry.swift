/// An entry of a table, kept in a heap object (its place), so that a lookup changes one reference
/// count instead of one for each member. Copies share the place until one of them is changed.
/// `@unchecked Sendable` is safe, because a place is written only while nobody shares it.
@dynamicMemberLookup
struct Entry<Value: Hashable & Sendable>: Hashable, @unchecked Sendable {
    private final class Place {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private var place: Place

    init(_ value: Value) { place = Place(value) }

    /// The whole entry, for callers that need a copy.
    var value: Value { place.value }

    subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
        place.value[keyPath: member]
    }

    subscript<Member>(dynamicMember member: WritableKeyPath<Value, Member>) -> Member {
        get { place.value[keyPath: member] }
        _modify {
            if !isKnownUniquelyReferenced(&place) { place = Place(place.value) }
            yield &place.value[keyPath: member]
        }
    }

    static func == (first: Self, second: Self) -> Bool {
        first.place === second.place || first.place.value == second.place.value
    }

    func hash(into hasher: inout Hasher) { hasher.combine(place.value) }
}
