import Glibc

extension Predictor {
    /// The user's apps, the most probable first; equally probable ones in the order of their names.
    public func ranking(at time: LocalTime) -> [Rank] {
        let logarithms = logarithms(at: time)
        let weights = weights[setting(at: time).rawValue]
        let probabilities = probabilities(logarithms, weights)
        return apps.indices.map { index in
            var sums = Terms()
            for term in terms {
                sums[term] = weights[term] * logarithms[Int(term.rawValue)][index]
            }
            return Rank(
                app: apps[index].app, probability: probabilities[index],
                usualProbability: Double(apps[index].usual), terms: sums)
        }.sorted {
            $0.probability != $1.probability ? $0.probability > $1.probability : $0.app < $1.app
        }
    }

    /// For each app, the exponential of its score, divided by the sum for all apps.
    func probabilities(_ logarithms: [[Double]], _ weights: Terms) -> [Double] {
        var scores = [Double](repeating: 0, count: apps.count)
        for term in terms {
            let values = logarithms[Int(term.rawValue)]
            let weight = weights[term]
            for index in scores.indices { scores[index] += weight * values[index] }
        }
        let greatest = scores.max() ?? 0
        for index in scores.indices { scores[index] = exp(scores[index] - greatest) }
        let sum = scores.reduce(0, +)
        return scores.map { $0 / sum }
    }

    /// For each term and app, the logarithm of the probability according to that term alone.
    func logarithms(at time: LocalTime) -> [[Double]] {
        let left = apps.map { Double(Habits.decay(over: time.elapsed(since: $0.lastLaunch))) }
        let frequency = apps.indices.map { Double(apps[$0].count) * left[$0] }.normalized()
        var result = [[Double]](
            repeating: [], count: Term.allCases.count)
        for term in terms {
            let values: [Double]
            switch term {
            case .frequency: values = frequency
            case .recency: values = recencies()
            case .follows: values = follows().leaning(on: frequency)
            case .followsTwo: values = followsTwo().leaning(on: follows().leaning(on: frequency))
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
            result[Int(term.rawValue)] = values.map { log(max($0, Self.leastProbability)) }
        }
        return result
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
