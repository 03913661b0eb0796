/// Lays a caller's environment over another one. Every variable that is read before main must come
/// from the caller, whatever the other environment contains.
func fuzzEnvironment(_ input: Input) {
    var input = input
    let (isNamed, cut) = (input.choice() & 1 == 1, input.choice())
    let entries = input.rest.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    let (caller, base) = (Array(entries.prefix(cut)), Array(entries.dropFirst(cut)))
    let extra = Set(isNamed ? caller.prefix(2).map { String($0.prefix { $0 != "=" }) } : [])

    let pool = PoolEnvironment(of: caller, extraNames: extra)
    let names = pool.variables.map { $0.utf8.prefix { $0 != UInt8(ascii: "=") }.map(\.self) }
    expect(Set(names).count, names.count, "the number of distinct names")
    for variable in pool.variables {
        let isCallers = caller.contains { $0.utf8.elementsEqual(variable.utf8) }
        if !isCallers { fatalError("\(variable) is not the caller's") }
    }
    let again = PoolEnvironment(of: pool.variables, extraNames: extra)
    if again != pool { fatalError("\(again) is not \(pool)") }
    if PoolEnvironment(of: pool.variables.reversed(), extraNames: extra) != pool {
        fatalError("the order counts in \(pool)")
    }
    let laid = pool.overlaid(on: base, extraNames: extra)
    for variable in pool.variables where !laid.contains(variable) {
        fatalError("\(variable) is lost in \(laid)")
    }
}
