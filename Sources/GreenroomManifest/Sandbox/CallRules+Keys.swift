internal import UnitFile

/// The keys of `[Sandbox]` that become a filter of system calls.
extension Sandbox.CallRules {
    private static let section = Sandbox.section

    static func read(_ reader: inout SectionReader) -> Self {
        func flag(_ key: String) -> Bool { reader.last(section, key, boolean) ?? false }
        var rules = Self()
        rules.errorNumber = reader.last(section, "SystemCallErrorNumber") {
            value throws(ValueError) in
            value.text == "kill" ? 0 : try SandboxWords.errorNumber(value.text[...])
        }.flatMap { $0 == 0 ? nil : $0 }
        let none: Sandbox.CallFilter? = nil
        rules.filter = reader.fold(section, "SystemCallFilter", none) {
            filter, value throws(ValueError) in try merge(value, into: &filter)
        }
        rules.readArchitectures(&reader)
        let any: Sandbox.AddressFamilies? = nil
        rules.addressFamilies = reader.fold(section, "RestrictAddressFamilies", any) {
            families, value throws(ValueError) in try mergeFamilies(value, into: &families)
        }
        let all: UInt64? = nil
        rules.allowedNamespaces = reader.fold(section, "RestrictNamespaces", all) {
            allowed, value throws(ValueError) in try mergeNamespaces(value, into: &allowed)
        }
        rules.restrictsRealtime = flag("RestrictRealtime")
        rules.restrictsSetuid = flag("RestrictSUIDSGID")
        rules.locksPersonality = flag("LockPersonality")
        rules.deniesWriteExecute = flag("MemoryDenyWriteExecute")
        return rules
    }

    /// The first line decides which kind of list it is. Later lines add to it or remove from it.
    private static func merge(
        _ value: Value, into filter: inout Sandbox.CallFilter?
    ) throws(ValueError) {
        if value.text.isEmpty {
            filter = nil
            return
        }
        let (isInverted, words) = try value.invertibleWords()
        var list = filter ?? Sandbox.CallFilter(isAllowList: !isInverted)
        if filter == nil, list.isAllowList {
            for call in SystemCallGroups.calls(in: "@default") ?? [] {
                list.calls[call] = .init(isExplicit: false)
            }
        }
        for word in words {
            let (calls, action) = try entry(word)
            for call in calls {
                list.calls[call] = isInverted == list.isAllowList ? nil : action
            }
        }
        filter = list
    }

    /// Reads `name` or `@group`, with or without `:EPERM` or `:kill`.
    private static func entry(
        _ word: Word
    ) throws(ValueError) -> (calls: Set<String>, action: Sandbox.CallFilter.Action) {
        let parts = word.text.split(separator: ":", maxSplits: 1)
        guard let name = parts.first.map(String.init) else {
            throw ValueError(offset: word.offset, message: "the name of a system call is missing")
        }
        var action = Sandbox.CallFilter.Action(isExplicit: !name.hasPrefix("@"))
        if parts.count == 2 {
            action.kills = parts[1] == "kill"
            if !action.kills {
                action.errorNumber = try SandboxWords.errorNumber(parts[1], at: word.offset)
            }
        }
        guard name.hasPrefix("@") else { return ([name], action) }
        guard let calls = SystemCallGroups.calls(in: name) else {
            throw ValueError(
                offset: word.offset,
                message: "there is no group \(Names.cut(name)) of system calls"
                    + suggestion(for: name, among: SystemCallGroups.names))
        }
        return (calls, action)
    }

    private mutating func readArchitectures(_ reader: inout SectionReader) {
        let words = reader.list(Sandbox.section, "SystemCallArchitectures", atMost: 8) {
            word throws(ValueError) in
            guard ["native", "x86", "x86-64", "x32", "arm", "arm64"].contains(word.text) else {
                throw ValueError(
                    message: "'\(Names.cut(word.text))' is not one of native, x86, x86-64, x32, "
                        + "arm, arm64")
            }
            return word.text
        }
        if !words.isEmpty { architectures = words }
    }

    private static func mergeFamilies(
        _ value: Value, into families: inout Sandbox.AddressFamilies?
    ) throws(ValueError) {
        if value.text.isEmpty {
            families = nil
            return
        }
        if value.text == "none" {
            families = .init(isAllowList: true)
            return
        }
        let (isInverted, words) = try value.invertibleWords()
        var list = families ?? .init(isAllowList: !isInverted)
        for word in words {
            let family = try SandboxWords.family(word)
            if isInverted == list.isAllowList {
                list.families.remove(family)
            } else {
                list.families.insert(family)
            }
        }
        families = list
    }

    private static func mergeNamespaces(
        _ value: Value, into allowed: inout UInt64?
    ) throws(ValueError) {
        if value.text.isEmpty {
            allowed = nil
            return
        }
        if let isRestricted = try? value.boolean() {
            allowed = isRestricted ? 0 : nil
            return
        }
        let (isInverted, words) = try value.invertibleWords()
        let bits = try SandboxWords.namespaces(words)
        if isInverted {
            allowed = (allowed ?? SandboxWords.everyNamespace) & ~bits
        } else {
            allowed = (allowed ?? 0) | bits
        }
    }
}
