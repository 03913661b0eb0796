import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// An interpreter, with unmodified programs of its language. FOLDER stands for their folder.
struct Interpreter: CustomTestStringConvertible, Sendable {
    let name: String
    /// The interpreter's path. Without it, the tests are skipped.
    let path: String
    /// The app's `Exec=`, and the words of a call of `look`.
    let exec: [String]
    var look: [String] = []
    /// Files of the folder; those with a `*` in their name are executable. Each `look` prints the
    /// facts by which a program can see how it was started, and reads its standard input.
    var files: [String: String] = [:]
    /// The app's `Exec=` for a program that names its interpreter in its first line.
    var script: [String]?
    /// Words for which the paused process must execute the interpreter anew, and why.
    let anew: [String]
    let reason: Control.AnewReason
    /// A variable that the interpreter reads at its boot.
    let variable: String
    /// One of the daemon's files that runs in the interpreter.
    let hook: String

    var testDescription: String { name }

    static let all = [perl, ruby, node, java, emacs]
    /// The interpreters that a word after the program's name can make start anew. In a call of
    /// Java, all such words come before the program's name.
    static let startingAnew = all.filter { !$0.anew.isEmpty }
    static let withScripts = all.filter { $0.script != nil }

    private static let perlText = """
        print "$0|@ARGV|$^X|$^W|", scalar(@ARGV), "\\n", umask, "\\n", `pwd`, `cat /proc/$$/comm`;
        print "$_=$ENV{$_}\\n" for sort keys %ENV;
        open my $words, "<", "/proc/$$/cmdline"; print <$words>, "\\n", -t STDIN ? 1 : 0, <STDIN>;
        close $words; opendir my $all, "/proc/$$/fd"; print join(" ", sort readdir $all), "\\n";
        $| = 1; print "\\n"; print STDERR "error\\n"; exit @ARGV + 3;

        """
    private static let perl = Interpreter(
        name: "Perl", path: "/usr/bin/perl", exec: ["/usr/bin/perl"], look: ["look.pl"],
        files: [
            "look.pl": perlText,
            "*script": "#!/usr/bin/perl\nuse strict; use warnings;\n" + perlText,
            "*by-env": "#!/usr/bin/env perl\n" + perlText,
        ], script: ["FOLDER/script"], anew: ["-e", "print qq(@ARGV)", "x"], reason: .options,
        variable: "PERL5LIB=/nowhere", hook: "perl/Greenroom.pm")

    private static let rubyText = """
        $stdout.sync = true
        p $0, ARGV, __FILE__, Dir.pwd, File.umask, $PROGRAM_NAME, $VERBOSE, $stdin.tty?
        ENV.sort.each { |name, value| puts "#{name}=#{value}" }
        puts File.read("/proc/self/comm"), File.read("/proc/self/cmdline").split("\\0").inspect
        puts $stdin.read
        warn "error"
        exit ARGV.size + 3

        """
    private static let ruby = Interpreter(
        name: "Ruby", path: "/usr/bin/ruby", exec: ["/usr/bin/ruby"], look: ["look.rb"],
        files: ["look.rb": rubyText, "*script": "#!/usr/bin/env ruby\n" + rubyText],
        script: ["FOLDER/script"], anew: ["-e", "p ARGV", "x"], reason: .program,
        variable: "RUBYLIB=/nowhere", hook: "ruby/greenroom.rb")

    private static let nodeText = """
        const fs = require("fs");
        console.log(process.argv, process.argv0, process.execArgv, process.cwd(), process.umask());
        console.log(__filename, process.title, Object.entries(process.env).sort());
        console.log(fs.readFileSync("/proc/self/cmdline", "utf8").split("\\0"));
        console.log(fs.readFileSync("/proc/self/comm", "utf8"), !!process.stdin.isTTY);
        console.log(fs.readFileSync(0, "utf8"));
        console.error("error");
        process.exitCode = process.argv.length;

        """
    private static let node = Interpreter(
        name: "Node.js", path: "/usr/bin/node", exec: ["/usr/bin/node"], look: ["look.js"],
        files: ["look.js": nodeText, "*script": "#!/usr/bin/env node\n" + nodeText],
        script: ["FOLDER/script"], anew: ["-e", "console.log(process.argv)", "x"],
        reason: .program, variable: "NODE_PATH=/nowhere", hook: "node/greenroom.cjs")

    private static let java = Interpreter(
        name: "Java", path: "/usr/bin/java",
        exec: ["/usr/bin/java", "-cp", "FOLDER/classes", "Look"],
        files: [
            "Look.java": """
            import java.nio.file.*;
            import java.util.*;

            public class Look {
                public static void main(String[] words) throws Exception {
                    System.out.println(Arrays.toString(words) + " " + Path.of("").toAbsolutePath());
                    new TreeMap<>(System.getenv()).forEach((name, value) ->
                        System.out.println(name + "=" + value));
                    System.out.println(System.getProperty("user.dir"));
                    System.out.println(Files.readString(Path.of("/proc/self/cmdline")));
                    System.out.println(new String(System.in.readAllBytes()));
                    System.out.flush();
                    System.err.println("error");
                    System.exit(words.length + 3);
                }
            }

            """
        ], anew: [], reason: .changed, variable: "JAVA_OPTIONS=x", hook: "libgreenroom-jvm.so")

    private static let emacsText = """
        (princ (format "%S\\n" (list command-line-args command-line-args-left load-file-name
                                    noninteractive default-directory (default-file-modes))))
        (princ (format "%S\\n" (sort (copy-sequence process-environment) #'string<)))
        (princ (with-temp-buffer (insert-file-contents-literally "/proc/self/cmdline") (buffer-string)))
        (princ (condition-case nil (read-string "line? ") (error "end")))
        (message "error")
        (kill-emacs (+ 3 (length command-line-args-left)))

        """
    private static let emacs = Interpreter(
        name: "Emacs", path: "/usr/bin/emacs",
        exec: ["/usr/bin/emacs", "-Q", "-batch", "-l", "FOLDER/look.el"],
        files: [
            "look.el": emacsText,
            "*script": "#!/usr/bin/env -S /usr/bin/emacs -Q --script\n" + emacsText,
        ], script: ["FOLDER/script"], anew: ["--debug-init"], reason: .program,
        variable: "EMAIL=somebody@example.org", hook: "emacs/greenroom.el")

    /// A daemon with the app.
    func bench(isScript: Bool = false, options: TestDaemon.Options = .init()) throws -> RuntimeBench
    {
        try requireOrSkip(access(path, X_OK) == 0, "no \(path)")
        if let source = files["Look.java"] {
            try requireOrSkip(access("/usr/bin/javac", X_OK) == 0, "no /usr/bin/javac")
            let folder = try TemporaryDirectory()
            _ = try folder.write(source, to: "Look.java")
            let compiled = try run(
                ChildRequest(
                    "/usr/bin/javac",
                    arguments: ["javac", "-d", folder.path, folder.path + "/Look.java"]))
            #expect(compiled.exit == .status(0))
            return try RuntimeBench(
                exec, copies: ["classes/Look.class": folder.path + "/Look.class"], options)
        }
        return try RuntimeBench(
            isScript ? script! : exec, files: files, options)
    }
}
