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
    /// The probability that the user launches this app next. The probabilities of all ranks add up
    /// to at most 1.
    public var probability: Double
    /// The average of that probability over the last launches, which does not depend on the present
    /// moment.
    public var usualProbability: Double
    /// What each term adds to the app's score, in natural logarithms. The probability is
    /// proportional to the exponential of their sum, so an app whose term is greater by 0.7 than
    /// that of another app is twice as likely as the other.
    public var terms: Terms

    public var score: Double { terms.sum }
}
