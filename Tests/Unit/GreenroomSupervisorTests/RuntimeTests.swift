import Testing

@testable import GreenroomSupervisor

/// Which interpreter a name means, its options, and the variables that it reads when it boots.
@Suite struct RuntimeTests {
    private static let names: [(String, Runtime?)] = [
        ("/usr/bin/python3", .python), ("/usr/bin/python3.11", .python),
        ("/usr/bin/python2.7", nil), ("/usr/bin/python", nil), ("/usr/bin/python3-config", nil),
        ("/usr/bin/node", .node), ("/usr/bin/nodejs", .node), ("/usr/bin/ruby3.1", .ruby),
        ("/usr/bin/ruby", .ruby), ("/usr/bin/perl", .perl), ("/usr/bin/perl5.36.0", .perl),
        ("/usr/bin/perldoc", nil), ("/usr/lib/jvm/java-17/bin/java", .java),
        ("/usr/lib/R/bin/exec/R", .r), ("/usr/bin/R", nil), ("/usr/bin/emacs-gtk", .emacs),
        ("/usr/bin/emacsclient", nil), ("/bin/dash", nil),
    ]

    @Test(arguments: names) func `an executable's name tells`(_ path: String, _ runtime: Runtime?) {
        #expect(Runtime(executable: path) == runtime)
    }

    private static let commands: [(Runtime, String, boot: Int)] = [
        (.python, "python3", 1), (.python, "python3 x.py -I", 1), (.python, "python3 -", 1),
        (.python, "python3 -uB -W error -X utf8 x.py", 6), (.python, "python3 -Werror x.py", 2),
        (.python, "python3 -O -m http.server", 2), (.python, "python3 -c 0", 1),
        (.node, "node --no-warnings --max-old-space-size=9 x.js -e", 3),
        (.ruby, "ruby -w -I /lib x.rb", 4), (.perl, "perl -w -I/lib x.pl -n", 3),
        (.java, "java -Dx=y -cp /a.jar:/b.jar Main -x", 4), (.java, "java -jar x.jar", 1),
        (.java, "java -Djava.awt.headless=true -Dfile.encoding=UTF-8 -jar x.jar", 3),
        (.java, "java -Djava.security.manager=allow -jar x.jar", 2),
        (.java, "java -Djava.security.manager=disallow -jar x.jar", 2),
        (.emacs, "emacs -Q --batch -l x.el", 3), (.emacs, "emacs -Q --script x.el", 2),
        (.r, "R", 1),
    ]

    @Test(arguments: commands)
    func `options come before the program`(_ runtime: Runtime, _ line: String, _ count: Int) throws
    {
        let words = line.split(separator: " ").map(String.init)
        let command = try RuntimeCommand(words, of: runtime)
        #expect(command.boot == Array(words[..<count]))
        #expect(command.program == Array(words[count...]))
    }

    private static let refused: [(Runtime, String)] = [
        (.python, "python3 -I x.py"), (.python, "python3 -uE x.py"), (.python, "python3 -S"),
        (.python, "python3 -i x.py"), (.python, "python3 -v x.py"), (.python, "python3 -x x.py"),
        (.python, "python3 -X importtime x.py"), (.python, "python3 -W"),
        (.node, "node -e 0"), (.node, "node --inspect x.js"), (.node, "node -r ./x x.js"),
        (.ruby, "ruby -n x.rb"), (.ruby, "ruby -I lib x.rb"), (.ruby, "ruby -rset x.rb"),
        (.perl, "perl -T x.pl"), (.perl, "perl -pe 1"), (.perl, "perl -Ilib x.pl"),
        (.java, "java"), (.java, "java -cp lib Main"), (.java, "java -javaagent:x.jar Main"),
        (.java, "java -Djava.system.class.loader=Mine -jar x.jar"),
        (.java, "java -Djava.security.manager Main"), (.java, "java -Duser.dir=/ Main"),
        (.java, "java -Djava.security.manager=default Main"),
        (.java, "java -Djava.security.manager=allowed Main"),
        (.java, "java -Dcom.sun.management.jmxremote.port=9 Main"),
        (.java, "java -Xlog:class+load -jar x.jar"), (.java, "java -verbose:class Main"),
        (.emacs, "emacs"), (.emacs, "emacs x.txt"),
        (.emacs, "emacs -batch -l x.el"), (.emacs, "emacs -q -Q -batch"),
        (.emacs, "emacs --script x.el"), (.emacs, "emacs -script x.el"), (.r, "R -e 0"),
        (.r, "R --vanilla --file=x.R"),
    ]

    @Test(arguments: refused)
    func `an option that changes the boot is refused`(_ runtime: Runtime, _ line: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(throws: RuntimeCommand.Objection.self) { try RuntimeCommand(words, of: runtime) }
    }

    @Test func `an interpreter's variables count for its pool, and for no other`() {
        let environment = ["PYTHONHASHSEED=1", "NODE_ENV=x", "RUBYLIB=/x", "A=b"]
        #expect(PoolEnvironment(of: environment).variables.isEmpty)
        #expect(
            PoolEnvironment(of: environment, runtime: .python).variables == ["PYTHONHASHSEED=1"])
        #expect(PoolEnvironment(of: environment, runtime: .node).variables == ["NODE_ENV=x"])
        let ofShell = ["BASH_FUNC_x%%=() { :; }", "args=x"]
        #expect(PoolEnvironment(of: ofShell + environment, runtime: .r).variables == ofShell)
    }

    @Test func `a variable that acts at the boot itself, or names a relative path, is a hindrance`()
    {
        #expect(Runtime.python.hindrance(in: ["PYTHONPATH=/a:/b", "PYTHONVERBOSE="]) == nil)
        #expect(Runtime.python.hindrance(in: ["PYTHONPATH=/a::/b"]) == "PYTHONPATH")
        #expect(Runtime.python.hindrance(in: ["PYTHONVERBOSE=1"]) == "PYTHONVERBOSE")
        #expect(Runtime.node.hindrance(in: ["NODE_OPTIONS=-r x", "RUBYOPT=x"]) == "NODE_OPTIONS")
        #expect(Runtime.java.hindrance(in: ["CLASSPATH=lib"]) == "CLASSPATH")
        #expect(Runtime.java.hindrance(in: ["_JAVA_LAUNCHER_DEBUG=1"]) == "_JAVA_LAUNCHER_DEBUG")
        #expect(Runtime.r.hindrance(in: ["R_LIBS=/a", "BASH_ENV=/a"]) == "BASH_ENV")
        #expect(Runtime.r.hindrance(in: ["R_DEFAULT_PACKAGES=NULL"]) == "R_DEFAULT_PACKAGES")
        #expect(Runtime.r.hindrance(in: ["R_HOME=/opt/R"]) == "R_HOME")
        #expect(Runtime.r.hindrance(in: ["BASH_FUNC_module%%=() { :; }"]) == nil)
        #expect(Runtime.r.hindrance(in: ["BASH_FUNC_sed%%=() { :; }"]) == "BASH_FUNC_sed%%")
        #expect(Runtime.r.hindrance(in: ["BASH_FUNC_break%%=() { :; }"]) == "BASH_FUNC_break%%")
        #expect(Runtime.emacs.hindrance(in: ["EMACSLOADPATH=/a:"]) == nil)
        #expect(Runtime.emacs.hindrance(in: ["EMACSLOADPATH=/a:b:"]) == "EMACSLOADPATH")
        #expect(Runtime.emacs.hindrance(in: ["EMACSPATH=/a:"]) == "EMACSPATH")
    }

    @Test(arguments: Runtime.allCases)
    func `an inspection has the script that it executes, and a library`(_ runtime: Runtime) throws {
        let words = runtime == .emacs ? ["emacs", "-Q", "-batch"] : [runtime.rawValue, "x"]
        let start = RuntimeStart(
            runtime: runtime, command: try RuntimeCommand(words, of: runtime),
            hooks: "Sources/Runtimes", imports: [], processName: nil)
        #expect(
            start.inspection().contains { word in
                start.inspectionFiles.contains { word.contains($0) }
            })
        #expect(start.inspectionFiles.last?.hasSuffix(".so") == true)
    }

    @Test func `an exclusion names a feature, its file or a library that the option -l loads`() {
        let path = "/usr/share/emacs/28.2/lisp/org/ob-core.elc"
        #expect(Runtime.emacs.isExcluded("ob-core", by: ["ob-core"]))
        #expect(Runtime.emacs.isExcluded(path, by: ["ob-core"]))
        #expect(!Runtime.emacs.isExcluded(path, by: ["ob", "core", "org"]))
        #expect(Runtime.emacs.isExcluded("-l:ob-core", by: ["ob-core"]))
        #expect(!Runtime.emacs.isExcluded("-l:ob-core", by: ["ob"]))
    }

    @Test func `the hook's option and the placeholder come before the program`() throws {
        let words = ["python3", "-u", "/x.py"]
        let start = RuntimeStart(
            runtime: .python, command: try RuntimeCommand(words, of: .python), hooks: "/h",
            imports: ["json", "os.path"], processName: nil)
        #expect(start.words == ["python3", "-u", "/h/python/placeholder"])
        #expect(
            start.environment(["A=b", "PYTHONPATH=/own"]) == [
                "A=b", "PYTHONPATH=/h/python:/own", "GREENROOM_IMPORTS=json\nos.path",
            ])
        #expect(
            start.inspection() == [
                "python3", "-u", "-S", "/h/python/inspect_imports.py", "-",
                "/h/libgreenroom-inspect.so", "/x.py",
            ])
        let module = RuntimeStart(
            runtime: .python, command: try RuntimeCommand(["python3", "-m", "x"], of: .python),
            hooks: "/h", imports: [], processName: nil)
        #expect(module.inspection().last == "/h/libgreenroom-inspect.so")
        let java = RuntimeStart(
            runtime: .java,
            command: try RuntimeCommand(["java", "-Xmx9m", "-jar", "x.jar", "a"], of: .java),
            hooks: "/h", imports: [], processName: nil)
        let perl = RuntimeStart(
            runtime: .perl, command: try RuntimeCommand(["perl", "-w", "x.pl"], of: .perl),
            hooks: "/h", imports: [], processName: nil)
        #expect(perl.words == ["perl", "-w", "-I/h/perl", "-MGreenroom", "/h/perl/placeholder"])
        let r = RuntimeStart(
            runtime: .r, command: try RuntimeCommand(["Rscript", "x.R"], of: .r), hooks: "/h",
            imports: [], processName: nil, executable: "/usr/lib/R/bin/exec/R")
        #expect(r.words == ["Rscript", "/h/r/placeholder"])
        #expect(
            r.environment(["A=b"]) == [
                "A=b", "R_PROFILE_USER=/h/r/Rprofile.R", "R_ENVIRON_USER=",
            ])
        let node = RuntimeStart(
            runtime: .node,
            command: try RuntimeCommand(["node", "--no-warnings", "x.js"], of: .node), hooks: "/h",
            imports: [], processName: nil)
        #expect(node.inspection() == ["node", "--no-warnings", "/h/node/inspect.cjs"])
        let script = RuntimeStart(
            runtime: .node, command: try RuntimeCommand(["node", "/x.js", "a"], of: .node),
            hooks: "/h", imports: [], processName: nil)
        #expect(script.inspection() == ["node", "/h/node/inspect.cjs", "/x.js"])
        #expect(script.inspection(takesBeginning: false) == ["node", "/h/node/inspect.cjs"])
        #expect(r.inspection() == ["Rscript", "/h/r/inspect.R"])
        #expect(
            java.inspection() == [
                "java", "-agentpath:/h/libgreenroom-jvm.so=inspect", "-Xmx9m", "-jar", "x.jar",
            ])
        #expect(
            r.environmentOfInspection(["A=b"]) == [
                "A=b", "LD_PRELOAD=/h/libgreenroom-trace.so",
                "R_PROFILE_USER=/h/r/placeholder", "R_ENVIRON_USER=",
                "GREENROOM_TRACED=/usr/lib/R/bin/exec/R",
            ])
        let emacs = RuntimeStart(
            runtime: .emacs,
            command: try RuntimeCommand(
                ["emacs", "-Q", "-batch", "-l", "/x.el", "a"], of: .emacs),
            hooks: "/h", imports: [], processName: nil)
        #expect(emacs.command.programName == "/x.el")
        let archive = try RuntimeCommand(["java", "-ea", "-jar", "/x.jar", "a"], of: .java)
        #expect(archive.programName == "/x.jar")
        #expect(
            emacs.words == [
                "emacs", "-Q", "-batch", "-l", "/h/emacs/greenroom.el", "/h/emacs/placeholder",
            ])
        #expect(emacs.inspection() == ["emacs", "-Q", "-batch", "-l", "/h/emacs/inspect.el"])
        #expect(
            java.words == [
                "java", "-agentpath:/h/libgreenroom-jvm.so", "-Xmx9m", "-jar", "x.jar",
            ])
    }
}
