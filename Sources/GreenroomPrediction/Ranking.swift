extension Predictor {
    /// The user's apps, the most probable first; equally probable ones in the order of their names.
    public func ranking(at time: LocalTime) -> [Rank] {
        let distributions = distributions(at: time)
        let weights = weights[setting(at: time).rawValue]
        return apps.indices.map { index in
            var shares = Terms()
            for (term, values) in distributions { shares[term] = weights[term] * values[index] }
            return Rank(
                app: apps[index].app, usualProbability: Double(apps[index].usual), terms: shares)
        }.sorted {
            $0.probability != $1.probability ? $0.probability > $1.probability : $0.app < $1.app
        }
    }

    /// For each term, the probabilities of the apps according to that term alone.
    func distributions(at time: LocalTime) -> [(term: Term, values: [Double])] {
        let left = apps.map { Double(Habits.decay(over: time.elapsed(since: $0.lastLaunch))) }
        let frequency = apps.indices.map { Double(apps[$0].count) * left[$0] }.normalized()
        let follows = follows().leaning(on: frequency)
        return terms.map { term in
            let values: [Double]
            switch term {
            case .frequency: values = frequency
            case .recency: values = recencies()
            case .follows: values = follows
            case .followsTwo: values = followsTwo().leaning(on: follows)
            case .hour:
                values = apps.indices.map { apps[$0].near(hour: time.hour) * left[$0] }
                    .leaning(on: frequency)
            case .weekday:
                values = apps.indices.map { Double(apps[$0].weekdays[time.weekday]) * left[$0] }
                    .leaning(on: frequency)
            case .begins:
                values = apps.indices.map { Double(apps[$0].beginnings) * left[$0] }
                    .leaning(on: frequency)
            }
            return (term, values)
        }
    }

    private func recencies() -> [Double] {
        var values = [Double](repeating: 0, count: apps.count)
        for (position, place) in order.enumerated() {
            values[Int(place)] =
                Double(recency[min(position, Self.recencyPlaces - 1)])
                / Double(max(1, position - Self.recencyPlaces + 2))
        }
        return values.normalized()
    }

    private func follows() -> [Double] {
        var values = [Double](repeating: 0, count: apps.count)
        guard let last = order.first else { return values }
        for follower in apps[Int(last)].followers {
            values[Int(follower.place)] += Double(follower.weight)
        }
        return values
    }

    private func followsTwo() -> [Double] {
        var values = [Double](repeating: 0, count: apps.count)
        guard order.count > 1 else { return values }
        for follower in apps[Int(order[0])].followersOfTwo where follower.before == order[1] {
            values[Int(follower.place)] += Double(follower.weight)
        }
        return values
    }
}

extension Habits {
    /// The launches at that hour, plus half of those in the hours before and after it.
    fileprivate func near(hour: Int) -> Double {
        Double(hours[hour]) + Double(hours[(hour + 1) % 24] + hours[(hour + 23) % 24]) / 2
    }
}

extension [Double] {
    fileprivate func normalized() -> [Double] {
        let sum = reduce(0, +)
        guard sum > 0 else { return map { _ in 1 / Double(count) } }
        return map { $0 / sum }
    }

    /// The counts as a distribution. The fewer counts there are, the nearer the distribution is to
    /// `other`.
    fileprivate func leaning(on other: [Double]) -> [Double] {
        let sum = reduce(Predictor.prior, +)
        return indices.map { (self[$0] + Predictor.prior * other[$0]) / sum }
    }
}
