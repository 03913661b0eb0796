import Testing
@testable import Varlink

@Suite struct `Interface descriptions` {
    private static let text = """
        # A thing.
        interface org.example.thing

        type State (on, off_line)
        type Part (
          # Inside.
          name: string,
          state: ?State,
          tags: ?[]string,
          inner: ?(a: int, b: [](c: bool)),
          kind: (x, y)
        )
        method Do(part: Part, map: [string]int, any: ?object, f: ?float) -> (parts: []Part)
        method Nothing() -> ()
        error Broken (state: State)
        error Empty ()

        """

    @Test func `an interface description is read`() throws {
        let interface = try Interface(parsing: Self.text)
        #expect(interface.name == "org.example.thing")
        #expect(interface.text == Self.text)
        #expect(interface.types["State"] == .enumeration(["on", "off_line"]))
        #expect(interface.methods["Nothing"] == .init(input: [], output: []))
        #expect(interface.errors["Broken"] == [.init(name: "state", type: .named("State"))])
        #expect(
            interface.methods["Do"]?.output
                == [.init(name: "parts", type: .array(.named("Part")))])
    }

    @Test(arguments: [
        ("", "1:1: expected \"interface\""),
        ("interface thing", "1:11: expected a name such as org.example.thing"),
        ("interface org..x", "1:11: expected a name such as org.example.thing"),
        ("interface org.x\nthing T ()", "2:1: expected \"type\", \"method\" or \"error\""),
        (
            "interface org.x\ntype t (a: int)",
            "2:6: a name here begins with a capital and has no underscore"
        ),
        ("interface org.x\ntype T (a: integer)", "2:12: there is no type integer"),
        ("interface org.x\ntype T (a: U)", "2:12: there is no type U"),
        ("interface org.x\ntype T (a: int, a: int)", "2:17: a twice"),
        ("interface org.x\ntype T (a: int, b)", "2:17: a value without a type among fields"),
        ("interface org.x\ntype T (a: int", "2:15: expected \",\" or \")\""),
        ("interface org.x\ntype T (a_: int)", "2:9: a_ is not a name"),
        ("interface org.x\ntype T (a: ??int)", "2:12: optional twice"),
        ("interface org.x\ntype T (a: [][]int)", "2:14: containers cannot nest directly"),
        ("interface org.x\ntype T (a: []?int)", "2:14: an element cannot be optional"),
        ("interface org.x\ntype T (a: [int]int)", "2:16: expected \"]\" or \"string]\""),
        ("interface org.x\ntype T ()", "2:6: systemd cannot read an empty type"),
        ("interface org.x\nmethod M() ()", "2:12: expected \"->\""),
        ("interface org.x\nmethod M(a) -> ()", "2:9: expected fields with types"),
        ("interface org.x\nerror E", "2:8: expected \"(\""),
        ("interface org.x\nerror E ()\nerror E ()", "3:7: E is declared twice"),
    ])
    func `an invalid description is refused with its place`(text: String, message: String) {
        let error = #expect(throws: InterfaceSyntaxError.self) { try Interface(parsing: text) }
        #expect(error?.description == message)
    }

    @Test(arguments: ["[][]int", "[]?int", "?[]?[string](a, b)", "[string][]?[string]object"])
    func `a description that is not ours may use the whole language`(type: String) throws {
        let text = "interface org.x\ntype Empty ()\ntype T (a: \(type))"
        let interface = try Interface(parsing: text, dialect: .whole)
        #expect(interface.types.count == 2)
        #expect(throws: InterfaceSyntaxError.self) { try Interface(parsing: text) }
    }

    @Test(arguments: ["[]", "[string]", "(a: ", "(a: ?"])
    func `a type may be nested up to the depth limit`(opening: String) {
        let deep = String(repeating: opening, count: 100_000)
        let error = #expect(throws: InterfaceSyntaxError.self) {
            try Interface(parsing: "interface org.x\ntype T (a: \(deep)", dialect: .whole)
        }
        #expect(error?.message == "nested too deeply")
    }

    @Test(
        arguments: [
            (["part": ["name": "a", "kind": "x"], "map": [:]], nil),
            (["part": ["name": "a", "kind": "x", "state": nil], "map": ["k": 1], "f": 1], nil),
            (
                [
                    "part": ["name": "a", "kind": "x", "inner": ["a": 1, "b": [["c": true]]]],
                    "map": [:],
                ], nil
            ),
            (["map": [:]], "part"),
            (["part": ["name": 1, "kind": "x"], "map": [:]], "part"),
            (["part": ["name": "a", "kind": "z"], "map": [:]], "part"),
            (["part": ["name": "a", "kind": "x", "more": 1], "map": [:]], "part"),
            (["part": ["name": "a", "kind": "x", "state": "of"], "map": [:]], "part"),
            (["part": ["name": "a", "kind": "x"], "map": ["k": "v"]], "map"),
            (["part": ["name": "a", "kind": "x"], "map": ["k": 1.5]], "map"),
            (["part": ["name": "a", "kind": "x"], "map": [:], "other": 1], "other"),
        ] as [(JSONObject, String?)])
    func `parameters are checked against the description`(parameters: JSONObject, invalid: String?)
        throws
    {
        let interface = try Interface(parsing: Self.text)
        do throws(ServiceError) {
            try interface.check(input: parameters, of: "Do")
            #expect(invalid == nil)
        } catch {
            #expect(error == .invalidParameter(invalid ?? ""))
        }
    }
}
