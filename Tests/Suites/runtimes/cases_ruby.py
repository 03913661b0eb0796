"""Ruby: unmodified scripts, the ways to name one, options, and every reason to start anew."""
import os
import shutil
import subprocess

import learning
import results
from comparing import ENVIRONMENT, Language
from instance import CHANGED, FAILED, HIDDEN, OPTIONS, PROGRAM, Refused, RUNTIMES, SIGNALS
from instance import ENVIRONMENT as VARIABLE

RUBY = "/usr/bin/ruby"
IMPORTS = ["set", "json", "net/http", "yaml", "csv", "openssl", "time"]

# Each script prints everything that a program can observe about one subject.
SCRIPTS = {
    "arguments": r'''
p $0, __FILE__, ARGV, ARGV.map { [_1.encoding, _1.frozen?] }, __dir__, $PROGRAM_NAME, __FILE__ == $0, ARGF.argv, Process.argv0, File.read("/proc/self/comm"), $0.frozen?, $0.encoding, __FILE__.encoding
puts File.read("/proc/self/cmdline")''',
    "environment": 'p ENV.to_h; ENV["NEW"]="1"; ENV.delete("Z"); system("env | grep -v ^_="); puts File.read("/proc/self/environ")',
    "working directory": 'p Dir.pwd, File.umask.to_s(8), File.exist?("cwd.rb"), File.expand_path("x")',
    "exception": r'''
def f; raise "boom"; end
f''',
    "cause": 'begin; Integer("x"); rescue => e; raise TypeError, "b"; end',
    "no method": r'''
x = nil
x.foo''',
    "suggestion": r'''
foo = [1]
foo.frist''',
    "syntax error": r'''
def x
  ((''',
    "functions at the end": 'at_exit { puts "bye"; at_exit { puts "nested" } }; exit 3',
    "exit without functions": 'at_exit { puts "bye" }; print "a"; $stdout.flush; exit! 4',
    "abort": 'abort "no"',
    "throw": 'throw :x',
    "streams": r'''
p STDIN.read, $stdin.tty?, $stdout.tty?, $stdout.sync, $stderr.sync, STDIN.external_encoding, $stdin.lineno, STDIN.inspect, STDOUT.inspect, STDERR.fileno, $stdout.external_encoding
$stderr.puts "e"''',
    "buffering": 'print "a"; $stderr.print "b"; puts "c"; $stderr.print "d"; print "e"; $stderr.print "f"',
    "window size": 'require "io/console"; p $stdin.winsize rescue p $!; p IO.console&.winsize',
    "lines": 'ARGV.clear; p gets, $., gets',
    "files of arguments": 'ARGV.replace(["exit.rb"]); p ARGF.read, ARGF.filename',
    "data after the program": r'''
p DATA.read, DATA.pos, DATA.path, __LINE__, DATA.class, DATA.singleton_methods, DATA.inspect, DATA.external_encoding, DATA.close_on_exec?
DATA.rewind; p DATA.gets
__END__
x
y''',
    "encodings": r'''
# encoding: iso-8859-1
p __ENCODING__, Encoding.default_external, Encoding.default_internal, Encoding.find("locale"), Encoding.find("filesystem"), "x".encoding''',
    "frozen strings": r'''
# frozen_string_literal: true
p "x".frozen?, __LINE__, binding.local_variables, self, self.class''',
    "loaded files": 'puts $LOADED_FEATURES; puts $LOAD_PATH',
    "constants and methods": 'p Object.constants.sort, Object.private_instance_methods(false).sort, Kernel.private_instance_methods(false).sort, Kernel.methods(false).sort, global_variables.sort, Module.constants.size',
    "signals": 'p TracePoint.stat.size; puts Signal.list.keys.map { |s| [s, (trap(s, "DEFAULT") rescue $!.message)].inspect }',
    "stack": r'''
def f
puts caller, caller_locations(0).inspect
end
f
p binding.source_location, TOPLEVEL_BINDING.local_variables, method(:f).source_location, RubyVM::InstructionSequence.of(method(:f)).absolute_path''',
    "relative files": 'require_relative "other"; p X; load "other.rb"; require "./other"',
    "trapped interrupt": 'trap("INT") { puts "int"; exit 4 }; Process.kill("INT", $$); sleep 1',
    "interrupt": 'Process.kill("INT", $$); sleep 1',
    "termination": 'puts "x"; Process.kill("TERM", $$); sleep 1',
    "kill": 'puts "x"; $stdout.flush; Process.kill("KILL", $$)',
    "threads": 'p Thread.list.size, Thread.current, Thread.main.name; Thread.new { puts "t"; raise "in thread" }.join',
    "forks": 'at_exit { puts "end #{$$ == MAIN}" }; MAIN = $$; pid = fork { puts "c"; exit 5 }; Process.wait pid; p $?.exitstatus; pid = fork { exit! 6 }; Process.wait pid; p $?.exitstatus',
    "seeded random": 'srand 1; p rand(100); p Random.new_seed != Random.new_seed, [1,2,3,4,5,6].shuffle(random: Random.new(3))',
    "time zone": 'p Time.at(0).to_s, Time.now.zone',
    "children": 'puts IO.popen([RbConfig.ruby, "-e", "p ARGV, ENV[%q(FOO)], $0", "q"]).read; puts `echo $0 $FOO $PWD`',
    "descriptors": r'''
d = Dir.children("/proc/self/fd").map(&:to_i).sort.map { |f| [f, (File.readlink("/proc/self/fd/#{f}") rescue "-")] }.reject { |f, l| f <= 2 || l =~ %r{/proc/} }
p d.map { |f, l| l.sub(/:\[\d+\]/, "") }
system "ls -l /proc/self/fd | wc -l"''',
    "gems": r'''
p defined?(Gem), defined?(DidYouMean), defined?(ErrorHighlight), $VERBOSE, $DEBUG, $;, RUBY_VERSION, Gem.loaded_specs.keys, Gem::Specification.find_by_name("json").name
gem "json"
p Gem.loaded_specs.keys''',
    "backtrace": 'begin; 1/0; rescue => e; p e.backtrace, e.full_message(highlight: false), e.backtrace_locations.map(&:absolute_path); end',
    "deep recursion": r'''
def f(n) = f(n + 1)
begin; f(0); rescue SystemStackError => e; p e.message, e.backtrace.last; end''',
    "evaluated text": 'eval("raise %q(x)", binding, "ev", 7) rescue p $!.backtrace; p eval("__FILE__") , eval("__LINE__")',
    "blocks at begin and end": r'''
END { puts "END" }
BEGIN { puts "BEGIN" }
puts "mid"''',
    "warnings": 'warn "w", uplevel: 0; $VERBOSE = true; x = 1; def q; end; def q; end',
    "title": r'$0 = "nom"; puts File.read("/proc/self/cmdline").delete("\0"); Process.setproctitle("title"); puts `ps -o args= -p #{$$}`; p $0',
    "main": 'if __FILE__ == $0 then puts "main" end; if $PROGRAM_NAME == __FILE__ then puts "m2" end; p __method__, self.inspect, TOPLEVEL_BINDING.receiver',
    "library": r'''
require "json"
require "optparse"
require "fileutils"
require "time"
puts JSON.generate(a: [1, nil, "ü"])
OptionParser.new { |o| o.banner = "x"
o.on("-a") {}
puts o.help
p o.program_name }
p Time.iso8601("2020-01-01T00:00:00Z")''',
    "fibers and ractors": 'p Fiber.new { Fiber.yield 1 }.resume; p Ractor.new { 3 }.take; e = [1,2].each; p e.next',
    "exec": 'exec("echo", "done") if ARGV.size == 3',
    "autoload": 'autoload :Zed, "./zed.rb"; p Zed',
    "limits": 'p Process.getrlimit(:NOFILE), Process.getpgrp == $$, Process.getsid == $$, Process.getpriority(Process::PRIO_PROCESS, 0)',
    "large environment": 'p ENV["BIG"]&.size; p ARGV.size',
    "lines that end in CR": 'puts 1\r\nputs "x"\r\n',
    "nothing": '',
    "required by itself": 'require_relative "require_main" if defined?(Q).nil? && (Q = 1); puts "loaded #{__FILE__}"',

}
# Subjects that imports change on purpose.
ONLY_BOOTED = ("loaded files", "constants and methods", "gems")


def language():
    def prepare(options, imports, environment):
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        return [RUBY, *options, "-r", RUNTIMES + "/ruby/greenroom.rb", RUNTIMES + "/ruby/placeholder"], environment
    return Language("ruby", RUBY, prepare)


def file_of(name):
    return name.replace(" ", "_") + ".rb"


def scripts(ruby):
    ruby.write("other.rb", "X = 1 unless defined? X; p __FILE__, __dir__\n")
    ruby.write("zed.rb", "Zed = 26\n")
    for name, text in SCRIPTS.items():
        ruby.write(file_of(name), text.lstrip("\n") + "\n")
    for name in SCRIPTS:
        # Ruby remembers the memory of as many words as the prewarm had.
        words = [file_of(name), "a b"] if name == "title" else [file_of(name), "a b", "", "ü"]
        ruby.same_on_both(name, words)
        if name not in ONLY_BOOTED:
            ruby.same(name + ", with imports", words, imports=IMPORTS)


def programs(ruby):
    """Tests each way to name a program."""
    arguments = file_of("arguments")
    os.mkdir(ruby.folder + "/sub")
    os.symlink("../" + arguments, ruby.folder + "/sub/link.rb")
    ruby.write("ünïcode name.rb", "p __FILE__, $0\n")
    ruby.write("exe", "#!/usr/bin/env ruby\n# frozen_string_literal: true\np 'x'.frozen?, __LINE__, $0, __FILE__\nraise 'x'\n", 0o755)
    ruby.write("warned", "#!/usr/bin/ruby -w\nx = 1\np $VERBOSE, __LINE__, $0\n", 0o755)
    ruby.write("split", "#!/usr/bin/env -S ruby -w\np $VERBOSE\n", 0o755)
    ruby.write("shell", "#!/bin/sh\nexec ruby -x \"$0\"\n#!ruby\np 1\n", 0o755)
    ruby.write("marked", "\ufeffp 1, __ENCODING__\n")
    for name, words, more in (
            ("an absolute name", [ruby.folder + "/" + arguments], {"directory": "/"}),
            ("a name with a dot", ["./" + arguments], {}),
            ("a name with two dots", ["../" + arguments], {"directory": "sub"}),
            ("a link", ["sub/link.rb"], {}),
            ("a name that is not ASCII", ["ünïcode name.rb"], {}),
            ("a script for env", ["exe", "q"], {}),
            ("a script with an option", ["./warned"], {"anew": PROGRAM}),
            ("a script with an option for env", ["./split"], {"anew": PROGRAM}),
            ("a script of a shell", ["shell"], {"anew": PROGRAM}),
            ("a byte order mark", ["marked"], {"anew": PROGRAM}),
            ("a missing script", ["nosuch.rb"], {"anew": PROGRAM}),
            ("a folder", ["sub"], {"anew": PROGRAM}),
            ("an empty name", [""], {"anew": PROGRAM}),
            ("a command", ["-e", "p ARGV, $0, __FILE__", "x"], {"anew": PROGRAM}),
            ("standard input", ["-", "x"], {"anew": PROGRAM, "given": b"p ARGV, $0\n__END__\nrest\n"}),
            ("no word", [], {"anew": PROGRAM, "given": b"p ARGV, $0, __FILE__\n"}),
            ("two dashes", ["--", arguments], {"anew": PROGRAM})):
        ruby.same_on_both(name, words, **more)
    ruby.same("a large environment and many words", [file_of("large environment"), *["x" * 100] * 200],
              environment=dict(ENVIRONMENT, BIG="x" * 30000))


def options(ruby):
    for words, script in ((["-w"], "warnings"), (["--disable=gems"], "loaded files"), (["-W0", "-Eiso-8859-1:utf-8"], "encodings"),
                          (["-W0", "-Eiso-8859-1:utf-8"], "arguments"), (["--enable=frozen-string-literal"], "main"),
                          (["-I/nowhere"], "loaded files"), (["--encoding=ascii"], "encodings")):
        ruby.same(" ".join(words) + ", " + script, [file_of(script), "ü"], options=words)
    ruby.same("an option too many", ["-w", file_of("warnings")], anew=PROGRAM)
    ruby.same("an option too few", [file_of("warnings")], options=["-w"], direct=[RUBY, file_of("warnings")], anew=OPTIONS)


def variables(ruby):
    zone, arguments = [file_of("time zone")], [file_of("arguments"), "ü"]
    tokyo = dict(ENVIRONMENT, TZ="Asia/Tokyo")
    ruby.same("a time zone", zone, environment=tokyo, prewarm=ENVIRONMENT)
    ruby.same("a time zone that is gone", zone, prewarm=tokyo)
    for name in ("encodings", "arguments", "streams"):
        ruby.same(f"the C locale, {name}", [file_of(name), "ü"], environment=dict(ENVIRONMENT, LC_ALL="POSIX"))
    ruby.same("another locale", arguments, environment=dict(ENVIRONMENT, LC_ALL="POSIX"), prewarm=ENVIRONMENT, anew=VARIABLE)
    ruby.same("RUBYOPT", [file_of("warnings")], environment=dict(ENVIRONMENT, RUBYOPT="-w -rset"))
    ruby.same("another RUBYOPT", [file_of("warnings")], environment=dict(ENVIRONMENT, RUBYOPT="-w"), prewarm=ENVIRONMENT,
              anew=VARIABLE)
    ruby.same("RUBYOPT that is gone", [file_of("warnings")], prewarm=dict(ENVIRONMENT, RUBYOPT="-w"), anew=VARIABLE)
    ruby.same("a signal that the caller ignores", [file_of("main")], anew=SIGNALS, change=lambda paused: paused.inherit(ignored=[1]))
    for number in range(3):
        ruby.same(f"descriptor {number} closed", [file_of("streams")], anew=FAILED,
                  change=lambda paused, number=number: paused.inherit(closed=[number]),
                  direct=["/bin/sh", "-c", f"exec \"$@\" {number}>&-", "sh", ruby.interpreter, file_of("streams")],
                  launch=[ruby.interpreter, file_of("streams")])


def run_a_program():
    """Runs a program between a change and the next pause: files that change while a process starts are not used."""
    subprocess.run([RUBY, "-e", "exit"], check=True)


def files(ruby):
    """A direct run must import the same files."""
    os.mkdir(ruby.folder + "/library")
    own = dict(ENVIRONMENT, RUBYLIB=ruby.folder + "/library")
    ruby.write("library/fresh.rb", "Fresh = 1\n")
    ruby.write("fresh.rb", "require 'fresh'; p Fresh\n")
    run_a_program()

    def replace(paused):
        ruby.write("library/new", "Fresh = 2\n")
        os.rename(ruby.folder + "/library/new", ruby.folder + "/library/fresh.rb")

    ruby.same("an import of one's own", ["fresh.rb"], environment=own, imports=["fresh"])
    ruby.same("an import that was edited", ["fresh.rb"], environment=own, imports=["fresh"], anew=CHANGED,
              change=lambda paused: ruby.write("library/fresh.rb", "Fresh = 11\n"))
    ruby.same("an import that was replaced", ["fresh.rb"], environment=own, imports=["fresh"], anew=CHANGED, change=replace)
    ruby.same("a file that hides an import", ["fresh.rb"], environment=own, imports=["set"], anew=CHANGED,
              change=lambda paused: ruby.write("library/set.rb", "p :mine\n"))
    shutil.rmtree(ruby.folder + "/library")
    ruby.same("a folder of imports that appears", [file_of("main")], environment=own, anew=CHANGED,
              change=lambda paused: os.mkdir(ruby.folder + "/library"))
    for name, text in (("a missing import", "nosuch"), ("an import that fails", ruby.write("fails.rb", "raise 'no'\n"))):
        refuses(ruby, name, [text])


def refuses(language, name, imports):
    """A process whose imports fail must end before the pause."""
    try:
        language.pause(imports=imports).end()
        results.report(f"{language.name}: {name} ends the process", False, "it paused")
    except Refused as refusal:
        results.report(f"{language.name}: {name} ends the process", "status 72" in str(refusal), str(refusal))


def recording(ruby):
    """The end of a launch records what the launch has required first. The list can be replayed."""
    script = ruby.write("records.rb", "require 'net/http'\nrequire 'set'\nrequire_relative 'other'\nrequire 'json'\np $0, ARGV\nexit 3\n")
    ruby.same("a launch that is recorded", [script, "x"], prewarm=dict(ENVIRONMENT, GREENROOM_RECORD=ruby.folder + "/nobody"))
    names = learning.record(ruby, [script, "x"], ENVIRONMENT, ruby.folder, ruby.folder + "/list")
    order = [os.path.basename(name) for name in names]
    results.report("ruby: the list has what is required first", order == ["http.rb", "set.rb"], str(order))
    ruby.same("a recorded list", [script, "x"], imports=names)


# The program that RubyGems writes now, and until version 2.7.
STARTER = """#!/usr/bin/ruby
#
# This file was generated by RubyGems.
#
# The application '{gem}' is installed as part of a gem, and
# this file is here to facilitate running it.
#

require 'rubygems'

Gem.use_gemdeps

version = ">= 0.a"

str = ARGV.first
if str
  str = str.b[/\\A_(.*)_\\z/, 1]
  if str and Gem::Version.correct?(str)
    version = str
    ARGV.shift
  end
end

if Gem.respond_to?(:activate_bin_path)
load Gem.activate_bin_path('{gem}', '{name}', version)
else
gem "{gem}", version
load Gem.bin_path("{gem}", "{name}", version)
end
"""
OLD_STARTER = STARTER.replace("""
Gem.use_gemdeps

""", "").replace("""str = ARGV.first
if str
  str = str.b[/\\A_(.*)_\\z/, 1]
  if str and Gem::Version.correct?(str)
    version = str
""", """if ARGV.first
  str = ARGV.first
  str = str.dup.force_encoding("BINARY") if str.respond_to? :force_encoding
  if str =~ /\\A_(.*)_\\z/ and Gem::Version.correct?($1) then
    version = $1
""")
# Prints everything that a program can find out about what has started it.
HELLO = """#!/usr/bin/env ruby
# frozen_string_literal: true
require 'optparse'
require 'g_hello'
require "g_hello/more" # and no more
p $0, __FILE__, __dir__, __LINE__, ARGV, ARGV.map { |each| [each.encoding, each.frozen?] }, caller, self, 'x'.frozen?, G_HELLO, MORE
p Gem.loaded_specs.values.map { |each| [each.full_name, each.activated?] }, Gem::Specification.unresolved_deps.keys, Gem.path
p Object.constants.sort, Object.private_instance_methods(false).sort, global_variables.sort, Signal.list.size, Thread.list.size
puts $LOADED_FEATURES, $LOAD_PATH, $stdin.read.inspect, $stdout.tty?, Dir.pwd, File.umask.to_s(8)
OptionParser.new { |options| options.on('-x') }.parse!
p require('g_hello'), require('g_third'), Gem.loaded_specs.keys, $PROGRAM_NAME
warn 'w', uplevel: 0
raise 'no' if ARGV.include?('fail')
"""


def specification(name, version, more=""):
    return (f"# -*- encoding: utf-8 -*-\n# stub: {name} {version} ruby lib\n\nGem::Specification.new do |s|\n"
            f"s.name = '{name}'; s.version = '{version}'; s.summary = 'x'; s.authors = ['x']; s.require_paths = ['lib']\n{more}\nend\n")


def install(ruby, name, version, files, more="", home="gems"):
    """Makes a gem, as its installation leaves it."""
    for path, text in files.items():
        ruby.write(f"{home}/gems/{name}-{version}/{path}", text)
    ruby.write(f"{home}/specifications/{name}-{version}.gemspec", specification(name, version, more))


def install_hello(ruby, version, program=HELLO, needs=("g_second", "g_first"), home="gems"):
    needs = "".join(f"s.add_runtime_dependency '{each}', '>= 0'\n" for each in needs)
    files = {"exe/g_hello": program, "lib/g_hello.rb": f"require 'g_first'\nG_HELLO = '{version}'\n",
             "lib/g_hello/more.rb": "require 'set'\nMORE = [GREAT, Set[1]]\n"}
    install(ruby, "g_hello", version, files, f"s.bindir = 'exe'; s.executables = ['g_hello']\n{needs}", home)


def learn(ruby, words, environment):
    """Returns the lines for the hook, and the refused files."""
    path = ruby.folder + "/recorded"
    learning.record(ruby, words, environment, ruby.folder, path)
    found = learning.trace([ruby.interpreter, RUNTIMES + "/ruby/inspect.rb"], path, environment)
    return learning.lines_for_hook(found), found.does


def started_by_rubygems(ruby):
    """Programs that RubyGems starts: its work at each start, and what they require first, is done before the pause."""
    home = ruby.folder + "/gems"
    plain = dict(ENVIRONMENT, GEM_HOME=home, GEM_PATH=home, HOME=ruby.folder + "/home")
    install(ruby, "g_first", "1.0", {"lib/g_first.rb": "GREAT = :first\n"})
    install(ruby, "g_second", "1.0", {"lib/g_second.rb": "raise 'nobody asks for it'\n"})
    install(ruby, "g_third", "1.0", {"lib/g_third.rb": "THIRD = 3\n"})
    install_hello(ruby, "1.0")
    hello = ruby.write("bin/g_hello", STARTER.format(gem="g_hello", name="g_hello"), 0o755)
    ruby.write("bin/g_hello_old", OLD_STARTER.format(gem="g_hello", name="g_hello"))
    ruby.write("bin/g_other", STARTER.format(gem="g_hello", name="g_other"))
    ruby.write("bin/g_edited", STARTER.format(gem="g_hello", name="g_hello").replace("str = ARGV.first", "$x = str = ARGV.first"))
    ruby.write("bin/g_plain", "require 'optparse'\nrequire 'g_hello'\nrequire 'g_hello/more'\np Gem.loaded_specs.keys\n")
    os.symlink("g_hello", ruby.folder + "/bin/g_link")
    run_a_program()

    names = learning.record(ruby, [hello, "x"], plain, ruby.folder, ruby.folder + "/list")
    found = [name.split("/lib/ruby/")[-1].split("/lib/")[-1] for name in names]
    results.report("ruby: a record of a program that RubyGems starts",
                   found == ["gem:g_hello:g_hello", "3.1.0/optparse.rb", "g_hello.rb", "g_hello/more.rb"] or
                   found[0] == "gem:g_hello:g_hello" and found[2:] == ["g_hello.rb", "g_hello/more.rb"], str(names))
    lines, does = learn(ruby, [hello, "x"], plain)
    results.report("ruby: the inspection of a program that RubyGems starts", not does, str(does))

    def same(name, words, both=False, **more):
        more = {"environment": plain, "imports": lines, **more}
        (ruby.same_on_both if both else ruby.same)("RubyGems starts a program: " + name, words, **more)

    same("words", [hello, "x", "ü", ""], both=True)
    for name, words in (("no word", [hello]), ("an error", [hello, "fail"]), ("an unknown option", [hello, "-y"]),
                        ("a link", ["bin/g_link", "x"]), ("a name with a dot", ["./bin/g_hello", "-x"]),
                        ("an older text", ["bin/g_hello_old", "x"]), ("a word that is no version", [hello, "_1.0"]),
                        ("bytes", [hello, b"\xff_"])):
        same(name, words)
    for name, words in (("a version", [hello, "_1.0_"]), ("a missing version", [hello, "_3.0_"]), ("a word like a version", [hello, "_x_"]),
                        ("another executable", ["bin/g_other"]), ("a text that somebody has edited", ["bin/g_edited", "x"]),
                        ("a program that requires the same", ["bin/g_plain"])):
        same(name, words, anew=HIDDEN)
    same("its program alone", [home + "/gems/g_hello-1.0/exe/g_hello"], anew=HIDDEN)
    same("another umask and folder", [hello], mask=0o077, directory="bin")
    same("a file of dependencies", [hello], environment=dict(plain, RUBYGEMS_GEMDEPS="-"), anew=HIDDEN)
    same("Bundler", [hello], environment=dict(plain, RUBYOPT="-rbundler"), anew=VARIABLE)
    same("warnings", [hello], environment=dict(plain, RUBYOPT="-w"))
    same("recording", [hello, "x"], imports=(), prewarm=dict(plain, GREENROOM_RECORD=ruby.folder + "/nobody"))
    for name, words, environment in (("a version", [hello, "_1.0_"], plain), ("another text", ["bin/g_edited"], plain),
                                     ("a file of dependencies", [hello], dict(plain, RUBYGEMS_GEMDEPS="-"))):
        names = learning.record(ruby, words, environment, ruby.folder, ruby.folder + "/list")
        results.report(f"ruby: RubyGems starts a program: {name}: not recorded", not names, str(names))
    same("a folder of gems that is not absolute", [hello], imports=(),
         environment=dict(plain, GEM_HOME="gems", GEM_PATH="gems"), anew=CHANGED)
    ruby.write("bin/gems.rb", "p Gem.path, Gem.dir, $LOAD_PATH, Gem::Specification.dirs\n")
    same("a folder of gems that is not absolute and missing", ["gems.rb"], imports=(), directory="bin",
         environment=dict(plain, GEM_HOME="gems", GEM_PATH="x:gems"))
    own = dict(plain, GEM_HOME=ruby.folder + "/own", GEM_PATH=f"{ruby.folder}/own:{home}")
    lines, _ = learn(ruby, [hello, "x"], own)
    same("two folders of gems", [hello, "x"], environment=own)
    same("a gem in the first of two folders", [hello, "x"], environment=own, anew=CHANGED,
         change=lambda _: install_hello(ruby, "1.0", "require 'g_hello'\np :own\n", home="own"))
    lines, _ = learn(ruby, [hello, "x"], own)
    same("the gem in the first of two folders", [hello, "x"], environment=own)
    specification_of_hello = specification("g_hello", "1.0", "s.bindir = 'exe'; s.executables = ['g_hello']")
    for name, change in (("a newer version", lambda _: install_hello(ruby, "2.0")),
                         ("a version that is gone", lambda _: os.remove(home + "/specifications/g_hello-2.0.gemspec")),
                         ("a specification that is edited",
                          lambda _: ruby.write("gems/specifications/g_hello-1.0.gemspec", specification_of_hello))):
        if name == "a version that is gone":
            run_a_program()
            lines, _ = learn(ruby, [hello, "x"], plain)
            same("the newest of two versions", [hello, "x"])
            same("the older of two versions", [hello, "_1.0_", "x"], anew=HIDDEN)
        if name == "a specification that is edited":
            run_a_program()
            lines, _ = learn(ruby, [hello, "x"], plain)
        same(name, [hello, "x"], anew=CHANGED, change=change)
    install(ruby, "g_third", "2.0", {"lib/g_third.rb": "THIRD = 4\n"})
    install(ruby, "g_asks", "1.0", {}, "s.add_runtime_dependency 'g_third', '>= 0'")
    install_hello(ruby, "3.0", needs=["g_first", "g_third"])
    lines, _ = learn(ruby, [hello, "x"], plain)
    same("one of two versions of another gem", [hello, "x"])
    install_hello(ruby, "4.0", "require 'g_hello'\np Gem.loaded_specs.keys\n", needs=["g_first"])
    ruby.write("gems/gems/g_hello-4.0/lib/g_hello.rb", "gem 'g_asks'\n")
    run_a_program()
    lines, _ = learn(ruby, [hello, "x"], plain)
    ruby.refused("RubyGems starts a program that leaves a gem to choose", imports=lines, environment=plain)


def learn_beginning(ruby, words, environment):
    """Returns the lines for the hook, which end before the first refused file, as the daemon's list does."""
    path = ruby.folder + "/recorded"
    names = learning.record(ruby, words, environment, ruby.folder, path)
    while names:
        found = learning.trace([ruby.interpreter, RUNTIMES + "/ruby/inspect.rb"], path, environment)
        if not found.does:
            return learning.lines_for_hook(found)
        names.pop()
        ruby.write("recorded", "".join(f"{name}\n" for name in names))
    return []


def variables_of_gems(ruby, home):
    return dict(ENVIRONMENT, GEM_HOME=f"{ruby.folder}/{home}", GEM_PATH=f"{ruby.folder}/{home}", HOME=ruby.folder + "/home")


def install_program(ruby, name, program, files, home):
    """Makes a gem with a program, and the file by which RubyGems starts the program."""
    install(ruby, name, "1.0", {"exe/" + name: program, **files}, f"s.bindir = 'exe'; s.executables = ['{name}']", home)
    return ruby.write("bin/" + name, STARTER.format(gem=name, name=name), 0o755)


def finding_gems(ruby):
    """The inspection sees what RubyGems does to find a file, and the hook leaves no trace of that to the program."""
    plain = variables_of_gems(ruby, "finding")
    os.mkdir(ruby.folder + "/other")
    for name, more in (("directory", "$kept = Dir.pwd"), ("arguments", "$kept = ARGV.dup"), ("warning", "warn 'evaluated'")):
        gem = "s_" + name
        install(ruby, gem, "1.0", {f"lib/{gem}.rb": "FOUND = 1\n"}, more, "finding")
        program = f"require 'set'\nrequire '{gem}'\np FOUND, $kept\n"
        ruby.write(gem + ".rb", program)
        install_program(ruby, f"p_{name}", program, {}, "finding")
        run_a_program()
        for way, script in (("", gem + ".rb"), (", started by RubyGems", "bin/p_" + name)):
            lines = learn_beginning(ruby, [script, "learned"], plain)
            ruby.same(f"a specification with effects: {name}{way}", [f"../{script}", "launched"], imports=lines,
                      environment=plain, directory="other")

    # The program may install a gem, which the direct run does in a separate folder.
    installs = """require 'set'
require 'fileutils'
FileUtils.cp('late.gemspec', Gem.dir + '/specifications/late-1.0.gemspec')
begin
  require 'late'
  p LATE
ensure
  File.delete(Gem.dir + '/specifications/late-1.0.gemspec')
end
"""
    ruby.write("late.gemspec", specification("late", "1.0"))
    ruby.write("installs.rb", installs)
    for home in ("finding", "twin"):
        ruby.write(home + "/gems/late-1.0/lib/late.rb", "LATE = 1\n")
        install_program(ruby, "installs", installs, {}, home)
    run_a_program()
    twin = ["/usr/bin/env", *(f"{name}={ruby.folder}/twin" for name in ("GEM_HOME", "GEM_PATH"))]
    for way, script in (("", "installs.rb"), (", started by RubyGems", "bin/installs")):
        ruby.same("a program that installs a gem" + way, [script], imports=learn_beginning(ruby, [script], plain),
                  environment=plain, direct=[*twin, RUBY, script], launch=[RUBY, script])

    in_order = "require 'u_first'\nrequire 'u_second'\np U_LAST\n"
    files = {"lib/u_first.rb": "", "lib/u_second.rb": "require 'u_third'\nrequire 'u_last'\n", "lib/u_third.rb": "U_THIRD = 3\n",
             "lib/u_last.rb": "U_LAST = defined?(U_THIRD)\n"}
    hello = install_program(ruby, "u_program", in_order, files, "finding")
    run_a_program()
    lines = learn_beginning(ruby, [hello], plain)
    ruby.same("a program of a gem", [hello], imports=lines, environment=plain)
    ruby.same("a program of a gem that requires earlier what another file loads", [hello], imports=lines, environment=plain,
              anew=HIDDEN, change=lambda _: ruby.write("finding/gems/u_program-1.0/exe/u_program",
                                                       in_order.replace("\n", "\nrequire 'u_last'\n", 1)))

    # A specification without the line that describes it is evaluated.
    bare = variables_of_gems(ruby, "bare")
    program = "require 'set'\np defined?(BARE), $LOADED_FEATURES.grep(/bare/)\n"
    ruby.write("asks.rb", program)
    install_program(ruby, "asks", program, {}, "bare")
    run_a_program()
    before = {script: learn_beginning(ruby, [script], bare) for script in ("asks.rb", "bin/asks")}
    ruby.write("bare/gems/bare-1.0/lib/bare.rb", "BARE = '1.0'\n")
    ruby.write("bare/specifications/bare-1.0.gemspec", "require_relative '../gems/bare-1.0/lib/bare'\n" +
               specification("bare", "1.0").partition("\n\n")[2])
    run_a_program()
    for script, lines in before.items():
        ruby.refused(f"{script}: a specification that would be evaluated", imports=lines, environment=bare)
        ruby.same(f"{script}: beside a specification that would be evaluated", [script], environment=bare,
                  imports=learn_beginning(ruby, [script], bare))


def first_lines(ruby):
    """Tests what a program can see about the reading of its own lines, and what runs before the first line."""
    plain = variables_of_gems(ruby, "lines")
    texts = {"number": "p $.\n", "number_after": "require 'set'\np $.\n", "block": "require 'set'\nBEGIN \\\n{ p defined?(Set) }\n"}
    scripts = {}
    for name, text in texts.items():
        scripts[name] = ruby.write(f"first_{name}.rb", text)
        scripts[name + ", for env"] = ruby.write(f"first_{name}", "#!/usr/bin/env ruby\n" + text)
        scripts[name + ", started by RubyGems"] = install_program(ruby, "first_" + name, text, {}, "lines")
    run_a_program()
    for name, script in scripts.items():
        ruby.same(f"first lines: {name}", [script], environment=plain)
        ruby.same(f"first lines: {name}, learned", [script], imports=learn_beginning(ruby, [script], plain), environment=plain)
    ruby.same("first lines: block, where another program's list is loaded", ["first_block.rb"], environment=plain,
              imports=learn_beginning(ruby, ["first_number_after.rb"], plain), anew=HIDDEN)


def kept_by_libraries(ruby):
    """Libraries that keep facts about a launch must be left to launches."""
    plain = variables_of_gems(ruby, "keeping")
    keeps = {"arguments": "[*$*]", "first_argument": "$FILENAME", "file_of_arguments": "ARGF.filename",
             "backtrace": "begin; raise 'x'; rescue => error; error.backtrace; end",
             "backtrace_of_thread": "Thread.current.backtrace",
             "locations_of_thread": "Thread.main.backtrace_locations.map(&:to_s)"}
    for name, value in keeps.items():
        install_program(ruby, "k_" + name, f"require 'keeps_{name}'\np KEPT\n",
                        {f"lib/keeps_{name}.rb": f"KEPT = {value}\n"}, "keeping")
        ruby.write(f"k_{name}.rb", f"require 'set'\nrequire 'keeps_{name}'\np KEPT\n")
    run_a_program()
    for name in keeps:
        for way, script in (("", f"k_{name}.rb"), (", started by RubyGems", f"bin/k_{name}")):
            ruby.same(f"a library that keeps: {name}{way}", [script, "number", "b"], environment=plain,
                      imports=learn_beginning(ruby, [script, "other.rb"], plain))


def tools(ruby):
    """Tests unmodified tools."""
    ruby.write("Gemfile", "source 'https://rubygems.org'\n")
    ruby.write("text.adoc", "= Title\n\nSome *text*.\n\n[source,ruby]\n----\nputs 1\n----\n")
    for name, words in (("gem", ["env", "version"]), ("gem", ["list", "--local"]), ("gem", ["help", "install"]),
                        ("bundle", ["--version"]), ("bundle", ["list"]), ("bundle", ["exec", "ruby", "-e", "p 1"]),
                        ("erb", ["--version"]), ("rake", ["--version"]), ("irb", ["--version"]), ("rdoc", ["--version"]),
                        ("asciidoctor", ["-o", "-", "-a", "reproducible", "text.adoc"]), ("asciidoctor", ["--version"])):
        tool = shutil.which(name, path=ENVIRONMENT["PATH"])
        if not tool:
            results.skip(f"ruby: {name} {' '.join(words)}", f"there is no {name}")
            continue
        ruby.same(f"{name} {' '.join(words)}", [tool, *words])
        imports = learn_beginning(ruby, [tool, *words], ENVIRONMENT)
        ruby.same(f"{name} {' '.join(words)}, learned ({len(imports)} files)", [tool, *words], imports=imports)


def run():
    if not os.path.exists(RUBY):
        return results.skip("ruby", "there is no ruby")
    ruby = language()
    for part in (scripts, programs, options, variables, files, recording, started_by_rubygems, finding_gems, first_lines,
                 kept_by_libraries, tools):
        part(ruby)
    ruby.end()
