import ArgumentParser

struct Completion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the completion script of a shell.",
        discussion: """
            "make install" puts the scripts where the shells look for them. They know verbs and \
            options, and ask the daemon for apps and instances. They are for greenroom-run, too.
            """)

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "The shell.")
    var shell: Shell

    func run() { StandardConsole().write(script) }

    /// The command line of greenroom-run is that of `greenroomctl run`, and is completed like that.
    var script: String {
        switch shell {
        case .bash:
            return Greenroomctl.completionScript(for: .bash) + """

                _greenroom_run() {
                    local line="greenroomctl run${COMP_LINE#"${COMP_WORDS[0]}"}"
                    COMP_POINT="$((COMP_POINT + ${#line} - ${#COMP_LINE}))"
                    COMP_LINE="${line}"
                    COMP_WORDS=(greenroomctl run "${COMP_WORDS[@]:1}")
                    COMP_CWORD="$((COMP_CWORD + 1))"
                    _greenroomctl greenroomctl "${@:2}"
                }

                complete -o filenames -F _greenroom_run greenroom-run

                """
        case .zsh:
            return Greenroomctl.completionScript(for: .zsh)
                .replacing("#compdef greenroomctl", with: "#compdef greenroomctl greenroom-run")
                .replacing(
                    "compdef _greenroomctl greenroomctl",
                    with: "compdef _greenroomctl greenroomctl greenroom-run"
                )
                .replacing(
                    "\n_greenroomctl() {\n",
                    with: """

                        _greenroomctl() {
                            if [[ "${service}" = greenroom-run ]]; then
                                words=(greenroomctl run "${(@)words[2,-1]}")
                                (( CURRENT++ ))
                            fi

                        """) + "\n"
        case .fish:
            return Greenroomctl.completionScript(for: .fish)
                + "\ncomplete -c greenroom-run --wraps 'greenroomctl run'\n"
        }
    }
}
