// Variables that interpreters read while they boot, in addition to those that every program reads
// before main. They were found by watching getenv(3) during the boot of an empty program, and in the
// interpreters' manuals.

extension Runtime {
    /// Whether the interpreter may have read a variable before its pause.
    func readsEarly(_ name: Substring) -> Bool {
        names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }

    private var prefixes: [String] {
        switch self {
        case .python: ["PYTHON"]
        case .node: ["NODE_"]
        case .ruby: ["RUBY", "GEM_", "BUNDLE_", "BUNDLER_"]
        case .perl: ["PERL"]
        case .java: ["JAVA_", "JDK_", "_JAVA_"]
        case .r: ["R_", "_R_", "BASH_FUNC_"]
        case .emacs: ["EMACS"]
        }
    }

    private var names: Set<Substring> {
        switch self {
        case .python: []
        case .node:
            [
                "FORCE_COLOR", "OPENSSL_CONF", "SSL_CERT_DIR", "SSL_CERT_FILE", "UV_USE_IO_URING",
                "UV_THREADPOOL_SIZE", "WATCH_REPORT_DEPENDENCIES",
            ]
        case .ruby: ["DEBIAN_RUBY_STANDALONE", "DEBIAN_DISABLE_RUBYGEMS_INTEGRATION"]
        case .perl: ["DPKG_RUNNING_VERSION"]
        case .java: ["CLASSPATH"]
        case .r:
            [
                "RHOME", "EDITOR", "VISUAL", "MAKE", "PAGER", "TAR", "SED", "LN_S", "COLUMNS",
                "DISPLAY", "JAVA_HOME", "DVIPS", "TEXI2DVI",
                // The front end is a bash script, which reads and assigns these.
                "BASH_ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "args", "usage", "gui", "a",
                "debugger", "debugger_args", "run_arch", "r_arch", "libnn", "libnn_fallback",
            ]
        case .emacs:
            [
                "USER", "LOGNAME", "NAME", "SHELL", "EMAIL", "ORGANIZATION", "TERM", "COLORTERM",
                "DISPLAY", "WAYLAND_DISPLAY", "INSIDE_EMACS",
            ]
        }
    }

    /// The variable that forces the interpreter to boot at the launch itself; nil if there is none.
    /// Such a variable makes the boot run the user's code or print something, or it names a file or
    /// folder relative to the caller's directory. Learned lists of Perl and Ruby rely on this: what
    /// `PERL5OPT` or `RUBYOPT` loads, and what is found in a relative folder of `PERL5LIB`, would
    /// come before what was learned.
    func hindrance(in environment: [String]) -> String? {
        for variable in environment {
            guard let equals = variable.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = variable[..<equals]
            guard readsEarly(name) else { continue }
            let value = variable[variable.utf8.index(after: equals)...]
            guard !value.isEmpty else { continue }
            if self == .r, Self.isCommandOfFrontEnd(name) { return String(name) }
            if bootNames.contains(name) || pathNames.contains(name) && isRelative(value, in: name) {
                return String(name)
            }
        }
        return nil
    }

    /// Variables that change the boot itself, whatever their value.
    private var bootNames: Set<Substring> {
        switch self {
        case .python:
            [
                "PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME", "PYTHONDUMPREFS", "PYTHONDUMPREFSFILE",
                "PYTHONDEBUG", "PYTHONINSPECT",
            ]
        case .node:
            [
                "NODE_OPTIONS", "NODE_V8_COVERAGE", "NODE_CHANNEL_FD", "NODE_DEBUG",
                "NODE_DEBUG_NATIVE",
            ]
        case .ruby: ["RUBYOPT"]
        case .perl: ["PERL5OPT", "PERL5DB", "PERL_MEM_LOG"]
        case .java:
            ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "_JAVA_LAUNCHER_DEBUG"]
        case .r:
            // If R_HOME is not its own home, the front end prints a warning to standard output.
            [
                "R_HOME", "R_PROFILE_USER", "R_PROFILE", "R_ENVIRON", "R_ENVIRON_USER", "RHOME",
                "R_TESTS", "R_BATCH", "R_DEFAULT_PACKAGES", "R_SCRIPT_DEFAULT_PACKAGES",
                "R_SESSION_TIME_LIMIT_CPU", "R_SESSION_TIME_LIMIT_ELAPSED", "BASH_ENV", "SHELLOPTS",
            ]
        case .emacs: []
        }
    }

    /// Variables that name files or folders. The boot would look up a relative path from the
    /// directory that it runs in, not from the caller's.
    private var pathNames: Set<Substring> {
        switch self {
        case .python: ["PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"]
        case .node: ["NODE_EXTRA_CA_CERTS", "NODE_ICU_DATA"]
        case .ruby: ["RUBYLIB", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "BUNDLE_PATH"]
        case .perl: ["PERL5LIB", "PERLLIB"]
        case .java: ["CLASSPATH"]
        case .r: ["R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"]
        case .emacs: ["EMACSLOADPATH", "EMACSDATA", "EMACSPATH"]
        }
    }

    /// Whether the variable is a bash function that R's front end, a bash script, would call
    /// instead of a command.
    private static func isCommandOfFrontEnd(_ name: Substring) -> Bool {
        guard name.hasPrefix("BASH_FUNC_"), name.hasSuffix("%%") else { return false }
        let commands: Set<Substring> = [
            ".", ":", "[", "basename", "break", "cat", "cd", "dirname", "echo", "eval", "exec",
            "exit", "export", "expr", "false", "grep", "printf", "pwd", "readlink", "sed", "set",
            "sh", "shift", "source", "test", "true", "uname", "unset",
        ]
        return commands.contains(name.dropFirst("BASH_FUNC_".count).dropLast(2))
    }

    /// Whether an entry of a list of paths is not absolute. An empty one is the current directory,
    /// and in `EMACSLOADPATH` the folders that Emacs searches by default.
    private func isRelative(_ list: Substring, in name: Substring) -> Bool {
        list.split(separator: ":", omittingEmptySubsequences: name == "EMACSLOADPATH").contains {
            !$0.hasPrefix("/")
        }
    }
}
