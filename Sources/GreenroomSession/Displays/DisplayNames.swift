/// The displays that a process's environment names, as toolkits find them.
public struct DisplayNames: Hashable, Sendable {
    var waylandPath: String?
    var xDisplay: String?
    var authorityPath: String?

    public init(_ environment: (String) -> String? = SessionOptions.variable) {
        let directory = environment("XDG_RUNTIME_DIR")
        waylandPath = environment("WAYLAND_DISPLAY").flatMap { name in
            name.hasPrefix("/") ? name : directory.map { $0 + "/" + name }
        }
        xDisplay = environment("DISPLAY")
        authorityPath =
            environment("XAUTHORITY") ?? environment("HOME").map { $0 + "/.Xauthority" }
    }
}
