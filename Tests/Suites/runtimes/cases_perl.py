"""Perl: unmodified scripts."""
import os
import shutil
import subprocess
import time

import learning
import results
from comparing import ENVIRONMENT, Language
from instance import CHANGED, OPTIONS, PROGRAM, RUNTIMES
from instance import ENVIRONMENT as VARIABLE

PERL = "/usr/bin/perl"
IMPORTS = ["Getopt/Long.pm", "File/Spec.pm", "POSIX.pm", "Data/Dumper.pm"]

# Each script prints everything that a program can observe about one subject.
SCRIPTS = {
    "arguments": 'print "$0 @ARGV|", __FILE__, __LINE__, " $^X ", scalar(@ARGV), "\\n"; print `cat /proc/$$/comm`;',
    "environment": 'print "$_=$ENV{$_}\\n" for sort keys %ENV; $ENV{NEW}=1; delete $ENV{Z}; system "env | grep -v ^_=";',
    "process files": 'for (qw(environ cmdline)) { open F, "/proc/self/$_"; print <F>, "\\n" }',
    "working directory": 'use Cwd; print cwd(), " ", umask, -e "s_working_directory.pl" ? 1 : 0;',
    "death": 'sub f { die "boom" } f();',
    "death by an object": "die { a => 1 };",
    "exit": 'END { print "end\\n" } exit 3;',
    "warnings by the first line": '#!/usr/bin/perl -w\nmy $x; print "a" . $x . "\\n"; warn "w";',
    "strictness": "use strict; $y = 1;",
    "syntax error": 'print "a"\nprint "b";\n)',
    "missing module": "use Nosuch::Module;\n",
    "data": 'while (<DATA>) { print "$.:$_" } print tell(DATA);\n__DATA__\na\nb',
    "own source": 'seek DATA, 0, 0; print <DATA>;\n__END__\nx',
    "standard input": 'print <STDIN>; print -t STDIN ? 1 : 0, -t STDOUT ? 1 : 0, $|; print STDERR "e";',
    "files of arguments": '@ARGV = ("s_death.pl"); while (<>) { print "$ARGV $. $_" }',
    "callers": 'use Carp qw(cluck confess); sub g { cluck "c"; print join ",", map { $_ // "u" } caller(0) } g(1); print caller() ? 1 : 0;',
    "search path": 'print join "\\n", @INC;',
    "loaded files": 'print join "\\n", map { "$_ $INC{$_}" } sort keys %INC;',
    "time": 'print scalar localtime(0);',
    "interrupt": '$SIG{INT} = sub { print "int\\n"; exit 4 }; kill INT => $$; sleep 1;',
    "termination": "kill TERM => $$; sleep 1;",
    "folder of the script": 'use FindBin; print "$FindBin::Bin $FindBin::Script";',
    "seeded random": "srand 1; print int rand 1000;",
    "random": "print rand() < 1;",
    "locale": 'use POSIX; print setlocale(LC_ALL, ""), strftime("%Y", gmtime 0);',
    "fork": 'if (my $p = fork) { waitpid $p, 0; print $? >> 8 } else { exit 5 }',
    "variables": 'print join ",", map { defined $_ ? $_ : "u" } $_, $@, $!+0, $/, $\\, $, , $;, $^W, ${^TAINT}, $^H, $?, $), $<;',
    "children": 'print `$^X -e "print qq(@ARGV $ENV{FOO})" x`;',
    "descriptors": 'opendir D, "/proc/self/fd"; print join " ", sort { $a <=> $b } grep { /\\d/ } readdir D;',
    "encodings": 'use utf8; use open qw(:std :utf8); print "äöü", length "äöü";',
    "string evaluation": 'eval "die"; print $@; eval "1 +* 2"; print $@; print __LINE__;',
    "line numbers": '\n\n# three\nwarn "four"; print __LINE__;\nwarn "five";',
    "pod": '=pod\n\nx\n\n=cut\n\nprint __LINE__; warn "x";',
    "options of modules": 'use Getopt::Long; GetOptions("x" => \\my $x) or die; print $x // "u", "@ARGV";',
    "dumping": 'use Data::Dumper; $Data::Dumper::Sortkeys = 1; print Dumper({ a => [1, 2] });',
    "begin": 'BEGIN { print "begin $0 ", __LINE__, (caller(0))[3], "\\n" } print "run";',
    "signals": 'print join ",", map { $_ . ($SIG{$_} // "") } sort keys %SIG; open F, "/proc/self/status"; print grep { /^Sig[^Q]/ } <F>;',
    "no newline at the end": "print 1",
    "threads": 'use threads; print threads->create(sub { "in a thread" })->join;',
    "large output": 'print "x" x 300000;',
    "lines on a terminal": 'print "one\\ntw"; print STDERR "three\\n"; print "o\\n"; system "echo four"; print "five";',
    "places": 'print tell STDIN, " ", tell STDOUT, " ", tell STDERR, "\\n"; print <STDIN>; print tell STDIN, " ", tell STDOUT;',
    "layers": 'print map { "$_ " } map { PerlIO::get_layers($_, details => 1) } *STDIN; print PerlIO::get_layers(STDOUT), PerlIO::get_layers(STDERR);',
}


def language():
    def prepare(options, imports, environment):
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        folder = RUNTIMES + "/perl"
        return [PERL, *options, "-I" + folder, "-MGreenroom", folder + "/placeholder"], environment
    return Language("perl", PERL, prepare)


def file_of(name):
    return "s_" + name.replace(" ", "_") + ".pl"


def scripts(perl):
    perl.write("library/Freshly.pm", "package Freshly; $x = 1; 1;\n")
    for name, text in SCRIPTS.items():
        perl.write(file_of(name), text + ("" if name.startswith("no newline") else "\n"))
        # Loaded files and the evaluations in them are counted.
        imports = [] if name in ("loaded files", "string evaluation") else IMPORTS
        perl.same_on_both(name, [file_of(name), "a b", "", "ü"], imports=imports)
        if name in ("environment", "data", "syntax error"):
            perl.same(name + ", booted", [file_of(name), "a b"])


def programs(perl):
    script = perl.folder + "/s_arguments.pl"
    perl.same("an absolute name", [script], directory="/", imports=IMPORTS)
    perl.same("a name in another folder", ["../s_arguments.pl"], directory="library")
    perl.same("-w", [file_of("warnings by the first line")], options=["-w"])
    for option in ("-C7", "-C63", "-C24", "-C0"):
        perl.same_on_both(option, [file_of("layers")], options=[option])
        perl.same_on_both(option + ", lines", [file_of("lines on a terminal")], options=[option])
    for name, value in (("PERL_UNICODE", "SAL"), ("PERLIO", ":crlf"), ("PERLIO", ":stdio")):
        perl.same_on_both(f"{name}={value}", [file_of("layers")], environment=dict(ENVIRONMENT, **{name: value}),
                          anew=OPTIONS if name == "PERLIO" else 0)
    perl.same("-I", [file_of("search path")], options=["-Ilibrary"])
    perl.same("-I and a word", [file_of("search path")], options=["-I", "library"])
    perl.same("-M", ["s_death.pl"], options=["-MFile::Spec", "-Mstrict"])
    perl.same("PERL5LIB", [file_of("search path")], environment=dict(ENVIRONMENT, PERL5LIB=perl.folder + "/library"))
    perl.same("a time zone", [file_of("time")], environment=dict(ENVIRONMENT, TZ="America/New_York"), prewarm=ENVIRONMENT)
    other = dict(reversed(ENVIRONMENT.items()), GONE="1", A="other")
    perl.same("another caller's environment", [file_of("environment")], prewarm=other)

    def await_another_second(paused):
        start = int(time.time())
        while time.time() < start + 1.05:  # a coarse clock is behind
            os.sched_yield()
        perl.write("launched", str(start + 1))

    perl.write("s_age.pl", 'open F, "launched"; print $^T >= <F> ? 1 : 0;\n')
    perl.same("time of the start", ["s_age.pl"], change=await_another_second)
    perl.same("a large environment", [file_of("environment")], environment=dict(ENVIRONMENT, LARGE="x" * 30000), prewarm=ENVIRONMENT)
    perl.write("s_terminal.pl", '$| = 1; print -t STDIN, -t STDOUT, "? "; print "<", scalar <STDIN>, ">"; print "sleeping\\n"; select undef, undef, undef, 0.1 while 1;\n')
    perl.same_on_terminal("input and an interrupt", ["s_terminal.pl"], [(rb"\? ", b"hello\n"), (rb"sleeping\r\n", b"\x03")])


def on_files(perl):
    """The standard streams are files, of which a part was read or written before."""
    words = [PERL, file_of("places")]

    def run(name, start):
        paths = [perl.write(f"{name}.{number}", "one\ntwo\n") for number in range(3)]
        streams = [os.open(path, os.O_RDWR) for path in paths]
        for number, stream in enumerate(streams):
            os.lseek(stream, number + 1, os.SEEK_SET)
        status = start(streams)
        for stream in streams:
            os.close(stream)
        contents = []
        for path in paths:
            with open(path) as file:
                contents.append(file.read())
        return status, contents

    def launch(streams):
        paused.launch(words, ENVIRONMENT, perl.folder, streams, 0o022)
        status = paused.process.wait()
        paused.await_start()
        return status

    expected = run("direct", lambda streams: subprocess.run(words, env=ENVIRONMENT, cwd=perl.folder, stdin=streams[0], stdout=streams[1],
                                                            stderr=streams[2]).returncode)
    paused = perl.pause()
    found = run("prewarmed", launch)
    paused.end()
    results.report("perl: streams that are files", found == expected and not paused.anew, f"direct {expected}, prewarmed {found}, {paused.anew}")


def anew(perl):
    script = "s_signals.pl"
    perl.write("taint.pl", "#!/usr/bin/perl -T\nprint 1;\n")
    perl.write("shell.pl", "#!/bin/sh\necho shell $1\n")
    perl.write("loader.pl", 'use lib "library"; use Freshly; print $Freshly::x;\n')
    perl.same("a taint check in the first line", ["taint.pl"], anew=PROGRAM)
    perl.same("a script of another interpreter", ["shell.pl", "x"], anew=PROGRAM)
    perl.same("a missing script", ["nosuch.pl"], anew=PROGRAM)
    perl.same("a folder", ["library"], anew=PROGRAM)
    perl.same("a command", ["-e", "print qq(@ARGV)", "x"], anew=OPTIONS)
    perl.same("standard input", [], given=b"print 1;\n", anew=PROGRAM)
    perl.same("another locale", [script], prewarm=ENVIRONMENT, environment=dict(ENVIRONMENT, LC_ALL="C"), anew=VARIABLE)
    perl.same("options in a variable", [script], prewarm=ENVIRONMENT, environment=dict(ENVIRONMENT, PERL5OPT="-w"), anew=VARIABLE)
    copy = Language("perl", perl.folder + "/perl", lambda *given: ([copy.interpreter, *perl.prepare(*given)[0][1:]], given[2]))
    shutil.copy(PERL, copy.interpreter)
    shutil.copy(PERL, copy.interpreter + ".new")
    copy.same("an interpreter that was replaced", ["-e", "print qq(@ARGV)", "x"], anew=OPTIONS,
              change=lambda paused: os.rename(copy.interpreter + ".new", copy.interpreter))
    copy.end()
    own = dict(ENVIRONMENT, PERL5LIB=perl.folder + "/library")
    perl.same("a module that appeared", ["loader.pl"], environment=own, imports=["Freshly.pm"], anew=CHANGED,
              change=lambda paused: perl.write("library/Another.pm", "1;\n"))
    perl.same("a signal that the caller ignores, handled by nobody", [script], change=lambda paused: paused.inherit(ignored=[13]),
              direct=["/bin/sh", "-c", "trap '' PIPE; exec \"$@\"", "sh", PERL, script], launch=[PERL, script])


def tools(perl):
    """perltidy, which needs no profile: its text begins with `use Perl::Tidy`."""
    tool = shutil.which("perltidy", path=ENVIRONMENT["PATH"])
    if not tool:
        return results.skip("perl: perltidy", "there is no perltidy")
    environment = dict(ENVIRONMENT, HOME=perl.folder + "/home")
    perl.write("ugly.pl", "if($x){print 'ü';}\nelse  {  my @a=(1,2 ,3); }\n")
    perl.write("broken.pl", "if ($x) { print 1;\n")
    perl.write("configured/.perltidyrc", "-i=8\n")
    perl.write("configured/ugly.pl", "if($x){print 1}\n")
    runs = [(["--version"], {}), (["--help"], {}), (["-st", "ugly.pl"], {}), (["-st", "broken.pl"], {}), (["-html", "-st", "ugly.pl"], {}),
            (["nowhere.pl"], {}), (["--no-such"], {}), (["-st"], {"given": b"if($x){print 1}\n"}), (["-dump-options"], {}),
            (["-st", "-i=2", "-ce", "ugly.pl"], {}), (["-st", "ugly.pl"], {"directory": "configured"}),
            (["-st", "ugly.pl"], {"environment": dict(environment, PERLTIDY=perl.folder + "/configured/.perltidyrc")})]
    path = perl.folder + "/recorded"
    names = learning.record(perl, [tool, "--version"], environment, perl.folder, path)
    found = learning.trace([PERL, RUNTIMES + "/perl/inspect.pl"], path, environment)
    imports = learning.lines_for_hook(found)
    results.report("perl: perltidy: Perl::Tidy is loaded before the pause",
                   not found.does and any(name.endswith("Perl/Tidy.pm") for name in found.stamps), f"{names} {found.does}")
    for words, more in runs:
        more = {"environment": environment, "hides": [(rb"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}", b"DATE")], **more}
        name = " ".join(["perltidy", *words, more.get("directory", "")])
        perl.same(name, [tool, *words], **more)
        perl.same(name + ", learned", [tool, *words], imports=imports, **more)
    perl.same_on_terminal("perltidy, learned", [tool, "-st", "ugly.pl"], [], environment=environment, imports=imports)
    return None


def run():
    if not os.path.exists(PERL):
        return results.skip("perl", "there is none")
    perl = language()
    for part in (scripts, programs, on_files, anew, tools):
        part(perl)
    perl.end()
