"""Perl and Ruby: what a launch records, and what the trace of an inspection shows."""
import os
import subprocess

import cases_perl
import cases_ruby
import instance
import learning
import results
from comparing import ENVIRONMENT
from instance import CHANGED, HIDDEN, RUNTIMES

# Modules that do one thing each when they are loaded, with what the trace says of it.
PERL = {
    "Plain": ("use POSIX (); use Scalar::Util;", None),
    "Words": ("our $x = $ARGV[0];", "arguments"),
    "Count": ("our $x = @ARGV;", "arguments"),
    "Name": ("our $x = $0;", "arguments"),
    "Start": ("our $x = $^T;", "time"),
    "Time": ("our $x = time;", "time"),
    "Directory": ("use Cwd; our $x = getcwd;", "directory"),
    "Moves": ("chdir '/';", "directory"),
    "Terminal": ("our $x = -t STDOUT;", "terminal"),
    "Variable": ("our $x = $ENV{G_ONE};", None),
    "Exists": ("our $x = exists $ENV{G_TWO};", None),
    "All": ("our %x = %ENV;", "variables"),
    "Sets": ("$ENV{G_SET} = 1;", "environment"),
    "Resets": ("{ local $ENV{G_RESET} = 1; }", None),
    "Opens": ("open my $f, '<', '/etc/passwd';", "opens"),
    "Keeps": ("open our $f, '<', '/usr/bin/perl';", "descriptor"),
    "Writes": ("open my $f, '>', '/tmp/greenroom-g'; unlink '/tmp/greenroom-g';", "writes"),
    "Runs": ("my $x = `true`;", "runs"),
    "Forks": ("my $p = fork; exit if !$p; waitpid $p, 0;", "runs"),
    "Connects": ("use Socket; socket my $s, AF_INET, SOCK_STREAM, 0;", "network"),
    "Signal": ("$SIG{USR1} = sub {};", "signals"),
    "Passing": ("{ local $SIG{USR1} = sub {}; }", None),
    "Dies": ("$SIG{__DIE__} = sub {};", "state"),
    "Path": ("push @INC, '/nowhere';", "state"),
    "Locale": ("use POSIX; POSIX::setlocale(LC_ALL, 'C');", "locale"),
    "Prints": ("print 'x';", "prints"),
    "Warns": ("warn 'x';", "prints"),
    "Fails": ("die 'no';", "fails"),
    "Loads": ("require Words;", None),
    "Tries": ("eval { require Terminal };", None),
    "Asks": ("our $x = -e '/etc/nosuch';", "opens"),
    "Link": ("our $x = readlink '/etc/nosuch';", "opens"),
    "User": ("our @x = getpwuid 0;", "opens"),
    "Zone": ("our @x = localtime 0;", "opens"),
    "Nice": ("our $x = getpriority 0, 0; setpriority 0, 0, $x;", "state"),
    "Settings": ("use POSIX; POSIX::Termios->new->getattr(0);", "terminal"),
    "Owns": ("chown 0, 0, '/tmp/nosuch';", "writes"),
    "Changed": ("utime 0, 0, '/tmp/nosuch';", "writes"),
    "Order": ("our $x = $INC{'threads.pm'};", None),
    "Ends": ("\n  END { 1 }", None),
    "Data": ("our $x = do { open my $f, '<', __FILE__ =~ s/pm$/txt/r; <$f> };", None),
    "Program": ("our $x = -x '/bin/sh';", None),
    "Missing": ("our $x = -e '/usr/share/greenroom-nosuch/x';", None),
    "Caller": ("our @x = caller;", "caller"),
    "Near": ("sub f { my @x = caller; $x[0] } our $x = f(); die $x if $x ne 'G::Near';", None),
    "Far": ("sub f { my @x = caller 1; @x } our @x = f();", "caller"),
    "Reads": ("our $x = <STDIN>;", "terminal"),
    "Pipe": ("our $x = -p STDOUT;", "terminal"),
    "Flags": ("use Fcntl; our $x = fcntl STDOUT, F_GETFL, 0;", "terminal"),
    "Random": ("our $x = rand;", "state"),
    "Seed": ("srand 3;", "state"),
    "Buffer": ("$| = 1;", "state"),
    "Mask": ("our $x = umask;", "state"),
    "Process": ("our $x = $$; our $y = __FILE__; sub AUTOLOAD { } ", None),
    "Lazy": ("sub f { require Words }", None),
    "Warned": ("our $x = $^W; my $y = 'a' . undef;", None),
    "Arguments": ("our $x = @_;", None),
    "Topic": ("$_ = 'left';", None),
    "Errs": ("open my $f, '<', '/etc/nosuch'; $! = 3;", "opens"),
}
RUBY = {
    "plain": ("require 'set'", None),
    "words": ("X1 = ARGV[0]", "arguments"),
    "count": ("X2 = ARGV.size", "arguments"),
    "name": ("X3 = File.basename($0)", "arguments"),
    "title": ("X4 = $PROGRAM_NAME", "arguments"),
    "main": ("exit if __FILE__ == $0", None),
    "more": ("x = 1 if __FILE__ == $0 || $0 =~ /rake/", "arguments"),
    "time": ("X5 = Time.now", "time"),
    "clock": ("X6 = Process.clock_gettime(Process::CLOCK_MONOTONIC)", None),
    "directory": ("X7 = Dir.pwd", "directory"),
    "relative": ("X8 = File.expand_path('x')", "directory"),
    "terminal": ("X9 = $stdout.tty?", "terminal"),
    "variable": ("X10 = ENV['G_ONE']", None),
    "fetch": ("X11 = ENV.fetch('G_TWO', 1)", None),
    "all": ("X12 = ENV.to_h", "variables"),
    "sets": ("ENV['G_SET'] = '1'", "environment"),
    "resets": ("ENV['G_RESET'] = '1'; ENV.delete('G_RESET')", None),
    "opens": ("File.read('/etc/passwd')", "opens"),
    "keeps": ("X13 = File.open('/usr/bin/env')", "descriptor"),
    "writes": ("File.write('/tmp/greenroom-g', ''); File.delete('/tmp/greenroom-g')", "writes"),
    "runs": ("`true`", "runs"),
    "thread": ("Thread.new {}.join", "thread"),
    "connects": ("require 'socket'; Socket.new(:INET, :STREAM).close", "network"),
    "signal": ("trap('USR1') {}", "signals"),
    "encoding": ("Encoding.default_internal = 'UTF-8'", "state"),
    "prints": ("puts 'x'", "prints"),
    "warns": ("warn 'x'", "prints"),
    "fails": ("raise 'no'", "fails"),
    "loads": ("require 'g_words'", None),
    "beside": ("require_relative 'g_words'; X14 = 1", None),
    "tries": ("begin; require 'g_terminal'; rescue LoadError; end", None),
    "asks": ("X21 = File.exist?('/etc/nosuch')", "opens"),
    "asks_link": ("X22 = File.symlink?('/etc/nosuch')", "opens"),
    "order": ("X23 = defined?(Nosuch)", None),
    "data": ("X25 = File.read(__FILE__.sub(/rb$/, 'txt'))", None),
    "wants": ("begin; require 'g_nosuch'; rescue LoadError; end; X93 = 1", None),
    "traces": ("begin; require 'g_nosuch'; rescue LoadError => error; X94 = error.backtrace; end", "caller"),
    "missing": ("X26 = File.exist?('/usr/share/greenroom-nosuch/x')", None),
    "caller": ("X27 = caller_locations(1, 9)", "caller"),
    "callers": ("X28 = caller", "caller"),
    "near": ("def f28 = caller_locations(1, 1)[0].path\nraise f28 if f28 != __FILE__", None),
    "far": ("def f29 = caller(3..-1)\nX29 = f29", "caller"),
    "reads": ("X30 = $stdin.gets", "terminal"),
    "pipe": ("X31 = $stdout.stat.pipe?", "terminal"),
    "random": ("X32 = rand", "state"),
    "sample": ("X33 = [1].shuffle", "state"),
    "buffer": ("$stdout.sync = true", "state"),
    "mask": ("X34 = File.umask", "state"),
    "process": ("X35 = $$", None),
    "features": ("X36 = $LOADED_FEATURES.dup", None),
    "zone": ("X24 = Time.at(0).hour", "opens"),
    "splat": ("X15 = [*ARGV]", "arguments"),
    "several": ("a, *b = ARGV", "arguments"),
    "duplicate": ("X16 = ARGV.dup", "arguments"),
    "clone": ("X17 = ARGV.clone", "arguments"),
    "names": ("X18 = ENV.any? { false }; X19 = ENV.each_key {}", "variables"),
    "size": ("X20 = ENV.size", "variables"),
    "end": ("at_exit {}", "state"),
    "finalizer": ("ObjectSpace.define_finalizer(Object.new, proc {})", "state"),
    "lazy": ("def f = require('g_words')", None),
    "verbose": ("$VERBOSE = nil", "state"),
    "ends": ("x = 1; END { x }", "state"),
    "compiles": ("RubyVM::InstructionSequence.compile_option = { frozen_string_literal: true }", "state"),
    "category": ("Warning[:deprecated] = !Warning[:deprecated]", "state"),
    "replaces": ("def Warning.warn(*) = nil", "state"),
    "lines": ("SCRIPT_LINES__ = {}", "state"),
    # Ruby would look for later files in that folder.
    "path": ("$LOAD_PATH << '/nowhere'", "state"),
}


# A program sets this before it loads a module that reads it.
SETS = {
    "perl": {"a variable": "BEGIN { $ENV{X} = 1 } use G::Plain;", "a missing variable": "$ENV{Y} ||= 2;",
             "a function": "BEGIN { *CORE::GLOBAL::time = sub { 1 } }", "a list": "BEGIN { @AnyDBM_File::ISA = ('SDBM_File') }",
             "a slice": "@ENV{qw(X Y)} = (1, 2);"},
    "ruby": {"a variable": "ENV['X'] = '1'", "a missing variable": "ENV['RACK_ENV'] ||= ENV['A']", "by a method": "ENV.store('X', '1')"},
}


def findings_of(language, script, modules, name_of, text_of, importers, environment):
    for name, (text, _) in modules.items():
        language.write("library/" + name_of(name), text_of(name, text) + "\n")
    data = language.write("library/" + os.path.splitext(name_of("Data" if "Data" in modules else "data"))[0] + ".txt", "1\n")
    names = {name: name_of(name) if language.name == "perl" else f"{language.folder}/library/{name_of(name)}" for name in modules}
    path = language.write("names", "".join(name + "\n" for name in names.values()))
    try:
        found = learning.trace([language.interpreter, RUNTIMES + script], path, environment)
    except instance.Refused as refusal:
        results.report(f"{language.name}: trace", False, str(refusal))
        return {}
    for name, (_, reason) in modules.items():
        does = found.does.get(names[name])
        results.report(f"{language.name}: trace: {name}: {reason or 'nothing'}", does == reason, f"found {does}")
    for importer, name in importers:
        results.report(f"{language.name}: trace: {importer} loads {name}", (names[importer], names[name]) in found.needs)
    results.report(f"{language.name}: trace: the variables that are read", {"G_ONE", "G_TWO"} <= found.reads, str(found.reads))
    stamps = found.stamps
    results.report(f"{language.name}: trace: a stamp of each", not (without := [name for name, path in names.items() if name.lower() != "fails" and not stamps.get(path, "-").isdigit()]), str(without))
    results.report(f"{language.name}: trace: data that is read", found.data.get(data) == stamp_of(data), str(found.data))
    results.report(f"{language.name}: trace: data that is missing", found.data.get("/usr/share") == "-", str(found.data))
    return stamps


def data_changes(language, module, script, environment):
    """A file that a module reads when it is loaded changes before the prewarm, and before the launch."""
    path = f"{language.folder}/library/" + ("G/Data.txt" if language.name == "perl" else "g_data.txt")
    imports = [module, f"={path}\t{stamp_of(path)}"]
    language.same("a module that reads data", [script], environment=environment, imports=imports)
    language.same("data that has changed", [script], environment=environment, imports=imports, anew=CHANGED,
                  change=lambda _: language.write("library/" + os.path.relpath(path, language.folder + "/library"), "2\n"))
    language.refused("other data than was inspected", environment=environment, imports=imports)
    language.same("a folder for data", [script], environment=environment, imports=[module, f"={language.folder}/bin\t-"],
                  anew=CHANGED, change=lambda _: language.write("bin/new", ""))


def perl():
    language = cases_perl.language()
    environment = dict(ENVIRONMENT, PERL5LIB=language.folder + "/library")
    stamps = findings_of(language, "/perl/inspect.pl", PERL, lambda name: f"G/{name}.pm",
                lambda name, text: f"package G::{name}; {text} 1;".replace("require ", "require G::"),
                [("Loads", "Words"), ("Tries", "Terminal")], environment)
    language.write("other/G/Own.pm", "1;\n")
    language.write("library/G/Loads.pm", "package G::Loads; require G::Words; 1;\n")
    for name, text, expected in (
            ("plain.pl", "use G::Loads; require G::Lazy; eval { require G::Nosuch }; print 1;", ["G/Loads.pm"]),
            ("first.pl", "#!/usr/bin/perl\n\n=pod\n\nuse G::Nosuch;\n\n=cut\n\nuse G::Plain qw(a b); # x\nuse 5.010;\nuse G::Lazy;",
             ["G/Plain.pm", "G/Lazy.pm"]),
            ("block.pl", "BEGIN { $G::x = 1 } use G::Plain;", []),
            ("code.pl", "use G::Plain; END { 1 } use G::Lazy;", ["G/Plain.pm"]),
            ("words.pl", "use G::Plain $ARGV[0]; use G::Lazy;", []),
            ("wanders.pl", "use lib 'other'; use G::Own; use G::Plain;", []),
            ("warns.pl", "#!/usr/bin/perl -w\nuse G::Warned; print $G::Warned::x;", []),
            ("forks.pl", "use G::Plain; if (fork) { wait } else { require G::Loads; exit }", ["G/Plain.pm"]),
            ("ends.pl", "use G::Plain; exit 3;", ["G/Plain.pm"])):
        language.write(name, text + "\n")
        names = learning.record(language, [name], environment, language.folder, language.folder + "/recorded")
        own = [each for each in names or [] if each.startswith("G/")]
        results.report(f"perl: recording: {name}", own == expected, str(names))
    language.same("recording changes nothing", ["plain.pl"], environment=environment,
                  prewarm=dict(environment, GREENROOM_RECORD=language.folder + "/nobody"))
    language.same("a list of the manifest's", ["plain.pl"], environment=environment, imports=["G/Loads.pm", "G/Plain.pm"])

    def line(name):
        return f"G/{name}.pm\t" + stamp_of(f"{language.folder}/library/G/{name}.pm")

    plain = line("Plain")
    language.same("a list with stamps", ["plain.pl"], environment=environment, imports=[line("Loads"), line("Words")])
    language.same("a list of the first of two", ["first.pl"], environment=environment, imports=[plain])
    language.same("a list that another program begins with", ["first.pl"], environment=environment, imports=[line("Lazy")], anew=HIDDEN)
    language.same("a program that looks elsewhere", ["wanders.pl"], environment=environment, imports=[plain], anew=HIDDEN)
    for name, text in SETS["perl"].items():
        language.write(f"sets_{name}.pl", text + " use G::Plain; print 'ok';\n")
        language.same(f"a program that sets {name} first", [f"sets_{name}.pl"], environment=environment, imports=[plain], anew=HIDDEN)
    language.write("reads.pl", "use G::Plain; my $x = $ENV{Z} // 1; print $x == 1 ? 'a' : 'b', $ENV{A} =~ /2/; $ENV{A} = 3;\n")
    language.same("a program that sets a variable then", ["reads.pl"], environment=environment, imports=[plain])
    language.same("a first line that asks for warnings, without a list", ["warns.pl"], environment=environment)
    language.same("a first line that asks for warnings", ["warns.pl"], environment=environment, imports=[line("Warned")], anew=HIDDEN)
    language.same("warnings", ["warns.pl"], ["-w"], environment=environment, imports=["G/Warned.pm"], hides=[(b"Use of un.*\n", b"")])
    language.write("all_warnings.pl", "#!/usr/bin/perl -wW\nuse G::Warned; print $G::Warned::x;\n")
    language.same("a first line that asks for all warnings", ["all_warnings.pl"], ["-w"], environment=environment,
                  imports=[line("Warned")], anew=HIDDEN)
    language.write("topic.pl", "use G::Topic; print;\n")
    language.same("what a module leaves in $_", ["topic.pl"], environment=environment, imports=[line("Topic")])
    for name, text in (("a die", "BEGIN { print $! + 0; die }"), ("a compile error", "BEGIN { print $! + 0 } 1 +;"),
                       ("a die when it runs", "print $! + 0; die;"), ("a loaded module", "use G::Plain; BEGIN { die }"),
                       ("a module that is not loaded", "use G::Topic; BEGIN { print $! + 0 } die;")):
        for names in (["Plain", "Errs"], ["Errs", "Plain"]):
            language.write("errs.pl", "".join(f"use G::{each}; " for each in names) + text + "\n")
            language.same(f"the error number after {names[1]}: {name}", ["errs.pl"], environment=environment,
                          imports=[line(each) for each in names])
    language.write("arguments.pl", "use G::Arguments; print $G::Arguments::x;\n")
    language.same("arguments of a function that a module finds", ["arguments.pl"], environment=environment, imports=[line("Arguments")])
    language.write("data.pl", "use G::Data; print $G::Data::x;\n")
    data_changes(language, line("Data"), "data.pl", environment)
    nested = "G/Sub/Deep.pm\t" + stamp_of(language.write("library/G/Sub/Deep.pm", "package G::Sub::Deep; sub f { 'far' } 1;\n"))
    os.makedirs(language.folder + "/first/G/Sub")
    language.write("deep.pl", "use G::Sub::Deep; print G::Sub::Deep::f();\n")
    language.same("a module that hides another in a subfolder", ["deep.pl"], imports=[nested], anew=CHANGED,
                  environment=dict(environment, PERL5LIB=f"{language.folder}/first:{language.folder}/library"),
                  change=lambda _: language.write("first/G/Sub/Deep.pm", "package G::Sub::Deep; sub f { 'near' } 1;\n"))
    importing(language, environment)
    many(language, "perl", environment)
    language.refused("another file than was inspected", imports=["G/Plain.pm\t1"], environment=environment)
    language.write("moose.pl", "use Moose; has x => (is => 'ro'); print main->new(x => 3)->x, main->meta->name;\n")
    large(language, "moose.pl", "/perl/inspect.pl", environment, "Moose.pm")
    language.write("ugly.pl", "if(1){print   1}\n")
    language.write("tidy.pl", "package main;\n\nuse Perl::Tidy;\nPerl::Tidy::perltidy(argv => ['-npro', '-st', 'ugly.pl']);\n")
    large(language, "tidy.pl", "/perl/inspect.pl", environment, "Perl/Tidy.pm")
    language.end()


def importing(language, environment):
    """A program imports from modules before it loads the next one. A module with its own code for that ends the list."""
    for name, text, goes_on in (
            ("Exports", "use Exporter 'import'; our @EXPORT_OK = ('f'); sub f { }", True),
            ("Own", "sub import { }", False),
            ("Versions", "sub VERSION { }", False),
            ("Failing", "use Exporter 'import'; our @EXPORT_FAIL = our @EXPORT_OK = ('f');", False)):
        language.write(f"library/G/Import{name}.pm", f"package G::Import{name}; {text} 1;\n")
        found_after(language, f"G/Import{name}.pm", goes_on, environment)
    found_after(language, "Carp.pm", True, environment)
    found_after(language, "constant.pm", False, environment)


def found_after(language, module, goes_on, environment):
    path = language.write("names", f"{module}\nG/Plain.pm\n")
    does = learning.trace([language.interpreter, RUNTIMES + "/perl/inspect.pl"], path, environment).does
    results.report(f"perl: trace: a module after {module}", does.get("G/Plain.pm") == (None if goes_on else "order"), str(does))


def ruby():
    language = cases_ruby.language()
    environment = dict(ENVIRONMENT, RUBYLIB=language.folder + "/library")
    stamps = findings_of(language, "/ruby/inspect.rb", RUBY, lambda name: f"g_{name}.rb", lambda name, text: text,
                [("loads", "words"), ("beside", "words"), ("tries", "terminal")], environment)
    library = language.folder + "/library/"
    language.write("other/own.rb", "\n")
    for name, text, expected in (
            ("bin/plain.rb", "# x\nrequire 'g_loads'\nrequire(\"g_plain\") # x\n\nbegin; require 'nosuch'; rescue LoadError; end\np 1", ["g_loads", "g_plain"]),
            ("bin/sets.rb", "X = 1\nrequire 'g_plain'", []),
            ("bin/code.rb", "require 'g_plain'\nX = 1\nrequire 'g_lazy'", ["g_plain"]),
            ("bin/asks.rb", "require 'g_plain' if ARGV.empty?\nrequire 'g_lazy'", []),
            ("bin/wanders.rb", "$LOAD_PATH << 'other'\nrequire 'g_plain'", []),
            ("bin/bundled.rb", "require 'g_plain'\nBundler = 1", []),
            ("bin/begins.rb", "require 'g_plain'\nX = 1\nBEGIN { X2 = 1 }", []),
            ("bin/continues.rb", "require 'g_lazy'\nrequire 'g_plain'\n# x\n  .then { |x| p x }", []),
            ("bin/forks.rb", "require 'g_plain'\nProcess.wait(fork { require 'g_loads' })", ["g_plain"]),
            ("bin/ends.rb", "require 'g_plain'\nexit 3", ["g_plain"])):
        language.write(name, text + "\n")
        names = learning.record(language, [name], environment, language.folder, language.folder + "/recorded")
        own = [each[len(library):-len(".rb")] for each in names or [] if each.startswith(library)]
        results.report(f"ruby: recording: {name}", own == expected, str(names))
    imports = [library + "g_loads.rb", library + "g_plain.rb"]

    def line(name):
        return f"{library}g_{name}.rb\t" + stamp_of(f"{library}g_{name}.rb")

    language.same("recording changes nothing", ["bin/plain.rb"], environment=environment,
                  prewarm=dict(environment, GREENROOM_RECORD=language.folder + "/nobody"))
    language.same("a list of the manifest's", ["bin/plain.rb"], environment=environment, imports=imports)
    plain = line("plain")
    language.same("a list with stamps", ["bin/plain.rb"], environment=environment, imports=[line("loads"), line("words"), plain])
    language.same("a list of the first of two", ["bin/plain.rb"], environment=environment, imports=[line("loads"), line("words")])
    language.same("a list that another program begins with", ["bin/plain.rb"], environment=environment, imports=[plain], anew=HIDDEN)
    language.write("bin/features.rb", "require 'g_features'\np X36\n")
    language.same("what is loaded, as a file that is loaded early sees it", ["bin/features.rb"], environment=environment,
                  imports=[line("features")])
    language.write("bin/data.rb", "require 'g_data'\np X25\n")
    data_changes(language, line("data"), "bin/data.rb", environment)
    socket = subprocess.run([language.interpreter, "-rsocket.so", "-e", "print $LOADED_FEATURES.grep(/\\/socket.so$/)[0]"],
                            capture_output=True, text=True).stdout
    language.write("bin/library.rb", "require 'socket.so'\nrequire 'g_plain'\np Socket\n")
    names = learning.record(language, ["bin/library.rb"], environment, language.folder, language.folder + "/recorded")
    results.report("ruby: recording: a library", names == [socket, library + "g_plain.rb"], str(names))
    found = learning.trace([language.interpreter, RUNTIMES + "/ruby/inspect.rb"], language.folder + "/recorded", environment)
    results.report("ruby: trace: a library", not found.does and found.stamps.get(socket) == stamp_of(socket), str(found.does))
    found = learning.trace([language.interpreter, "--disable=gems", RUNTIMES + "/ruby/inspect.rb"], language.folder + "/recorded",
                           environment)
    results.report("ruby: trace: without RubyGems", found.stamps.get(socket) == stamp_of(socket), str(found.stamps))
    language.same("a list with a library", ["bin/library.rb"], environment=environment, imports=[f"{socket}\t{stamp_of(socket)}", plain])
    language.same("a program that looks elsewhere", ["bin/wanders.rb"], environment=environment, imports=[plain], anew=HIDDEN)
    for name, text in SETS["ruby"].items():
        language.write(f"bin/sets_{name}.rb", text + "\nrequire 'g_plain'\np 1\n")
        language.same(f"a program that sets {name}", [f"bin/sets_{name}.rb"], environment=environment, imports=[plain], anew=HIDDEN)
    language.write("bin/reads.rb", "require 'g_plain'\nx = ENV['Z']; p x == '1', ENV['A'] =~ /2/; ENV['A'] = '3'\n")
    language.same("a program that sets a variable then", ["bin/reads.rb"], environment=environment, imports=[plain])
    nested = f"{library}g_sub/deep.rb"
    nested += "\t" + stamp_of(language.write("library/g_sub/deep.rb", "def f = 'far'\n"))
    os.makedirs(language.folder + "/first/g_sub")
    language.write("bin/deep.rb", "require 'g_sub/deep'; p f\n")
    language.same("a file that hides another in a subfolder", ["bin/deep.rb"], imports=[nested], anew=CHANGED,
                  environment=dict(environment, RUBYLIB=f"{language.folder}/first:{language.folder}/library"),
                  change=lambda _: language.write("first/g_sub/deep.rb", "def f = 'near'\n"))
    many(language, "ruby", environment)
    gems(language, plain)
    language.refused("another file than was inspected", imports=[library + "g_plain.rb\t1"], environment=environment)
    language.write("bin/large.rb", "require 'active_support/all'\nrequire 'nokogiri'\n"
                   "puts Nokogiri::XML('<a>1</a>').at('a').text, 3.days.inspect, Time.at(0).utc.to_date.next_month\n"
                   "p Gem.loaded_specs.keys.sort, Thread.list.size\n")
    large(language, "bin/large.rb", "/ruby/inspect.rb", environment, "/nokogiri.rb")
    language.end()


def stamp_of(path):
    """The stamp of a file: see `Sources/Runtimes/library/stamp.c`."""
    status = os.stat(path)
    return f"{status.st_ctime_ns // 10**9}{status.st_ctime_ns % 10**9:09}{status.st_ino}"


def many(language, name, environment):
    """A record has only the first names of too many."""
    if name == "perl":
        ending, call = ".pm", "use G::Many::{};"
    else:
        ending, call = ".rb", "require 'G/Many/{}'"
    modules = [f"M{i:04}" + "x" * 80 for i in range(900)]
    for module in modules:
        language.write(f"library/G/Many/{module}{ending}", "1;\n")
    script = language.write("bin/many" + ending, "\n".join(call.format(module) for module in modules) + "\n")
    names = learning.record(language, [script], environment, language.folder, language.folder + "/recorded") or []
    own = [os.path.basename(each) for each in names if "/Many/" in each]
    results.report(f"{name}: recording: more than is read", len(own) > 300 and own == [each + ending for each in modules[:len(own)]],
                   f"{len(own)} names")


def gems(language, plain):
    """Tests two versions of a gem. A program may need the older one."""
    home = language.folder + "/gems"
    for version in ("1.0", "2.0"):
        language.write(f"gems/gems/g_bar-{version}/lib/g_bar.rb", f"G_BAR = '{version}'\n")
        language.write(f"gems/specifications/g_bar-{version}.gemspec", cases_ruby.specification("g_bar", version))
    language.write("gems/gems/g_foo-1.0/lib/g_foo.rb", "require 'g_bar'\n")
    language.write("gems/gems/g_foo-1.0/bin/g_foo", "require 'g_foo'\np G_BAR\n")
    language.write("gems/specifications/g_foo-1.0.gemspec", cases_ruby.specification("g_foo", "1.0", "s.executables = ['g_foo']; s.bindir = 'bin'\n"
                   "s.add_dependency 'g_bar', '~> 1'"))
    environment = dict(ENVIRONMENT, GEM_HOME=home, GEM_PATH=home, RUBYLIB=language.folder + "/library")
    stub = "load Gem.activate_bin_path('g_foo', 'g_foo', '>= 0')\n"
    language.write("bin/stub.rb", stub)
    language.write("bin/chooses.rb", "gem 'g_bar', '~> 1'\nrequire 'g_bar'\np G_BAR\n")
    language.write("bin/newest.rb", "require 'g_bar'\np G_BAR\n")
    for name, expected in (("bin/stub.rb", []), ("bin/chooses.rb", []), ("bin/newest.rb", ["2.0"])):
        names = learning.record(language, [name], environment, language.folder, language.folder + "/recorded") or []
        own = [version for each in names for version in ("1.0", "2.0") if f"g_bar-{version}" in each]
        results.report(f"ruby: recording: two versions of a gem: {name}", own == expected, str(names))
    newest = f"{home}/gems/g_bar-2.0/lib/g_bar.rb"
    newest += "\t" + stamp_of(newest)
    language.same("a program that chooses a version", ["bin/chooses.rb"], environment=environment, imports=[plain], anew=HIDDEN)
    language.same("a program of a gem, with two versions of another", ["bin/stub.rb"], environment=environment,
                  imports=[newest], anew=HIDDEN)
    older = f"{home}/gems/g_bar-1.0/lib/g_bar.rb"
    language.refused("a gem of which there is a newer version", imports=[older + "\t" + stamp_of(older)], environment=environment)
    path = language.write("names", older + "\n" + newest.split("\t")[0] + "\n")
    does = learning.trace([language.interpreter, RUNTIMES + "/ruby/inspect.rb"], path, environment).does
    results.report("ruby: trace: a gem of which there is a newer version", does.get(older) == "versions", str(does))
    system = subprocess.run([language.interpreter, "-rset", "-e", "print $LOADED_FEATURES.grep(/\\/set.rb$/)[0]"],
                            capture_output=True, text=True).stdout
    language.write("gems/gems/set-99.0/lib/set.rb", "class Set; end\n")
    language.write("gems/specifications/set-99.0.gemspec", cases_ruby.specification("set", "99.0"))
    language.refused("a file of Ruby's of which there is a newer gem", imports=[system + "\t" + stamp_of(system)], environment=environment)
    does = learning.trace([language.interpreter, RUNTIMES + "/ruby/inspect.rb"], language.write("names", system + "\n"), environment).does
    results.report("ruby: trace: a file of Ruby's of which there is a newer gem", does.get(system) == "versions", str(does))


def large(language, script, inspection, environment, module):
    """Tests a program with many modules, if they are installed: recorded, inspected, and equal with its list loaded."""
    if instance.run_directly([language.interpreter, script], environment, language.folder).status:
        return results.skip(f"{language.name}: {script}", f"{module} is not installed")
    path = language.folder + "/recorded"
    names = learning.record(language, [script], environment, language.folder, path)
    found = learning.trace([language.interpreter, RUNTIMES + inspection], path, environment)
    missing = {name for name, reason in found.does.items() if reason == "fails"}  # modules that a module can do without
    results.report(f"{language.name}: {script}: {module} is loaded before the pause",
                   found.does.keys() == missing and any(name.endswith(module) for name in found.stamps.keys() - missing),
                   f"{names} {found.does}")
    imports = [f"{name}\t{stamp}" for name, stamp in found.stamps.items() if name not in missing]
    imports += [f"={path}\t{stamp}" for path, stamp in found.data.items() if not path.endswith((".pm", ".rb"))]
    language.same(script, [script], environment=environment, imports=imports)
    return None


def run():
    perl()
    ruby()
