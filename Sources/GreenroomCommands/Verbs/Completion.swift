import ArgumentParser

struct Completion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the completion script of a shell.",
        discussion: """
            "make install" puts the scripts where the shells look for them. They know verbs and \
            options, and ask the daemon for apps and instances.
            """)

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "The shell.")
    var shell: Shell

    func run() { StandardConsole().write(script) }

    var script: String {
        let shell: CompletionShell =
            switch self.shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        return Greenroomctl.completionScript(for: shell) + "\n"
    }
}
