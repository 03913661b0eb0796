extension MachineCondition {
    /// Whether the machine has a default route over IPv4 (proc_net(5), `route`) or IPv6
    /// (`ipv6_route`), other than through the loopback device.
    public var hasDefaultRoute: Bool { hasDefaultRoute4 || hasDefaultRoute6 }

    /// Flags of route(8): RTF_UP, and RTF_REJECT for a route that leads nowhere.
    private static let up = 0x1
    private static let reject = 0x200

    private var hasDefaultRoute4: Bool {
        routes("route").dropFirst().contains { line in
            let words = line.split(whereSeparator: \.isWhitespace)
            return words.count > 7 && words[1] == "00000000" && words[7] == "00000000"
                && Self.leads(words[3])
        }
    }

    private var hasDefaultRoute6: Bool {
        routes("ipv6_route").contains { line in
            let words = line.split(whereSeparator: \.isWhitespace)
            return words.count > 9 && words[0].allSatisfy { $0 == "0" } && words[1] == "00"
                && words[9] != "lo" && Self.leads(words[8])
        }
    }

    /// The lines of a table of the machine's network. That is the network of process 1, because a
    /// service may have an empty one (`PrivateNetwork=`). If this process may not see process 1,
    /// its own table is read.
    private func routes(_ table: String) -> [Substring] {
        let text = text(of: "/proc/1/net/" + table) ?? text(of: "/proc/net/" + table) ?? ""
        return text.split(separator: "\n")
    }

    private static func leads(_ flags: Substring) -> Bool {
        guard let flags = Int(flags, radix: 16) else { return false }
        return flags & up != 0 && flags & reject == 0
    }
}
