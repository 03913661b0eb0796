/// A reason to expect that an app will be launched next.
public enum Term: UInt8, CaseIterable, Hashable, Sendable {
    /// How many other apps were launched since its last launch.
    case recency = 0
    /// How often it was launched; recent launches count more than old ones.
    case frequency = 1
    /// How often it followed the app that was launched last.
    case follows = 2
    /// How often it followed the last two apps, in their order.
    case followsTwo = 3
    /// How often it was launched at this hour of the day.
    case hour = 4
    /// How often it was launched on this day of the week.
    case weekday = 5
    /// How often it was the first app to be launched after a rest.
    case begins = 6
}

/// A number for each term.
public struct Terms: Hashable, Sendable {
    /// There is one more number than there are terms. It is always 0.
    private var values: SIMD8<Double>

    public init() { values = .zero }

    public subscript(term: Term) -> Double {
        get { values[Int(term.rawValue)] }
        set { values[Int(term.rawValue)] = newValue }
    }

    public var sum: Double { values.sum() }
}

/// An app's place in the ranking.
public struct Rank: Hashable, Sendable {
    public var app: String
    /// The average of the probability over the last launches, which does not depend on the present
    /// moment.
    public var usualProbability: Double
    /// What each term adds to the probability.
    public var terms: Terms

    /// The probability that the user launches this app next: the sum of the terms. The
    /// probabilities of all ranks add up to 1.
    public var probability: Double { min(terms.sum, 1) }
}
