# Finds out for Greenroom what files do besides defining things when they are required. It runs in a separate
# process.
#
#     ruby [OPTIONS] inspect.rb <LIST
#
# LIST has a path on each line, as $LOADED_FEATURES spells it; gem:GEM:EXECUTABLE as the first stands for what RubyGems
# does to start that program. From a profile, LIST has @GEM VERSION..., and ^NAME for each file that the program
# requires first.
#
# libgreenroom-trace.so is preloaded: it writes which functions of the C library were called, and this file tells it, by
# getenv(3), where each file begins and ends, and what happens in Ruby itself: uses of the arguments, reads of all
# variables, and changes of the state that all files share.
tell = ENV.method(:[]).unbind.bind(ENV)
tell = ->(plain, text) { plain.call("greenroom #{text}") }.curry[tell]

# The effects of these files cannot be seen from here: they choose what others load, watch the program, or
# take the terminal.
known = %r{/(?:bundler|bundler/setup|bootsnap|bootsnap/setup|readline|debug|pry|byebug|tracer|profile|dotenv/load|irb|spring/boot)\.rb\z}

# RubyGems, which may be disabled, loads RbConfig.
standard = if defined?(RbConfig) then RbConfig::CONFIG["rubylibdir"]
           else $LOAD_PATH.map(&:to_s).reverse.find { |folder| File.file?("#{folder}/timeout.rb") }
           end
# What these files keep does no harm. It is not used (a time where there is a steady clock, a seed of libxml2), waits
# for work without a wake-up, is compared at the launch (the year), tells only whether the file is called by itself, or
# is the array of the arguments, which is the same at the launch, when a program uses it. RubyGems notes when it began
# to look for gems, and drops that.
harmless = {
  "#{standard}/timeout.rb" => "caller", "#{standard}/optparse.rb" => "arguments",
  "/rake/application.rb" => "arguments", "/concurrent/utility/monotonic_time.rb" => "time", "/concurrent/atomic/ruby_thread_local_var.rb" => "thread",
  "/nokogiri/extension.rb" => "time", "/tzinfo/data_sources/zoneinfo_reader.rb" => "time"
}

lines = STDIN.read.split("\n")
names = lines.grep_v(/\A[!@^+?<>]/)
known_gem, *known_versions = lines.grep(/\A@/).first.to_s.delete_prefix("@").split
required = lines.grep(/\A\^/).map { |line| line.delete_prefix("^") }
STDIN.reopen("/dev/null")
($LOAD_PATH.map(&:to_s) + (defined?(Gem) ? [*Gem.path, Gem.default_dir] : [])).grep(%r{\A/}).each { |folder| tell.("place #{folder}") }

# A list has paths, which activate no gem: a program would load the newest version beside another.
is_older = ->(_path) { false }
has_file = lambda do |stub, file|
  stub.full_require_paths.product(Gem.suffixes).any? { |folder, ending| File.file?("#{folder}/#{file}#{ending}") }
end
if defined?(Gem::Specification)
  several = Gem::Specification.stubs_for_pattern("*.gemspec", false).group_by(&:name).values.map { |stubs| stubs.sort_by(&:version).reverse }
                              .select { |stubs| stubs[0].version != stubs[-1].version }
  older = several.flat_map { |stubs| stubs.drop(1) }.flat_map(&:full_require_paths).map { |folder| "#{folder}/" }
  searched = $LOAD_PATH.map(&:to_s).sort_by { |folder| -folder.size }
  is_older = lambda do |path|
    next true if path.start_with?(*older)

    folder = searched.find { |each| path.start_with?("#{each}/") } or next false
    name = path.delete_prefix("#{folder}/")
    several.any? { |newest, *| !newest.full_require_paths.include?(folder) && has_file.(newest, name) }
  end
end

# RubyGems adds the folders of the gems from which a file is required, which does not count.
folders = -> { $LOAD_PATH.map(&:to_s) - (defined?(Gem) ? Gem.loaded_specs.values.flat_map(&:full_require_paths) : []) }
state = lambda do
  [STDOUT, STDERR].each(&:flush) # what was printed is seen now
  [folders.(), $stdin, $stdout, $stderr, $/, $\, $,, $;, $VERBOSE, $DEBUG, Encoding.default_external,
   Encoding.default_internal, defined?(RubyVM::InstructionSequence) && RubyVM::InstructionSequence.compile_option,
   %i[deprecated experimental].map { |each| Warning[each] }, Warning.method(:warn).unbind, Object.const_defined?(:SCRIPT_LINES__),
   Thread.abort_on_exception, GC.stress, [STDIN, STDOUT, STDERR].map { |stream| [stream.external_encoding, stream.sync] }]
end

# The files in progress, the innermost last, each with the state at its beginning and whether one within has changed it.
progress = []
first = [nil, nil, false]
begin_file = lambda do |path|
  tell.("begin #{path}")
  harmless.each { |ending, reason| tell.("spares #{reason}") if path.end_with?(ending) }
  tell.("spares time") if path.start_with?("gem:")
  tell.("does known") if known.match?(path)
  tell.("does versions") if is_older.(path)
  # How a file asks for arguments without a call of a method: [*ARGV], a, *b = ARGV.
  text = path.end_with?(".rb") && File.file?(path) ? File.binread(path) : ""
  tell.("does arguments") if text.match?(/(?:\bARGV\b|\$\*)(?!\s*(?:&?\.|\[|<<))|\$FILENAME\b/)
  # Notes what the file leaves for the end of the program, even without a call of a method.
  tell.("does state") if text.match?(/\bEND\s*\{/)
  progress << [path, state.(), false]
end
end_file = lambda do |has_failed|
  path, before, is_changed_within = progress.pop
  if state.() != before
    tell.("does state") unless is_changed_within
    (progress.last || first)[2] = true
  end
  tell.("#{has_failed ? 'fails' : 'end'} #{path}\t#{path}")
end

# A file that is compiled during a call of require begins there, and has ended when the call ends.
during = lambda do |name, &call|
  depth, is_done = progress.size, false
  result = call.call
  is_done = true
  if result == false
    _, path = $LOAD_PATH.resolve_feature_path(name.to_s)
    tell.("needs #{path}") if path
  end
  result
ensure
  end_file.(!is_done && !$LOADED_FEATURES.include?(progress.last[0])) while progress.size > depth
end
# RubyGems raises the error of a file that is missing a second time, and Ruby then asks for its backtrace.
raises_again = Kernel.instance_method(:require).source_location&.first
[Kernel, Kernel.singleton_class].each do |place|
  plain, plain_load = place.instance_method(:require), place.instance_method(:load)
  place.define_method(:require) { |name| during.(name) { plain.bind_call(self, name) } }
  place.define_method(:load) { |name, *wrap| during.(name) { plain_load.bind_call(self, name, *wrap) } }
  place.define_method(:require_relative) do |name|
    here = caller_locations(1, 1).first.absolute_path
    require File.expand_path(name.respond_to?(:to_path) ? name.to_path : name, File.dirname(here))
  end
  place.send(:private, :require, :load, :require_relative) if place == Kernel
end

TracePoint.new(:script_compiled) do |trace|
  begin_file.(trace.instruction_sequence.path) unless trace.eval_script
end.enable

tell.("watch $0")
[*Array.public_instance_methods(false), :each, :dup, :clone].uniq.each do |name|
  next if %i[object_id __id__ __send__ hash].include?(name)

  plain = Array.instance_method(name)
  ARGV.define_singleton_method(name) do |*words, **named, &block|
    tell.("does arguments")
    plain.bind_call(self, *words, **named, &block)
  end
end
# Blocks for the end run in reverse order, so those of the file that was loaded first run last.
[[Kernel, :at_exit], [Kernel.singleton_class, :at_exit], [ObjectSpace.singleton_class, :define_finalizer]].each do |place, name|
  plain = place.instance_method(name)
  place.define_method(name) do |*words, &block|
    tell.("does state")
    plain.bind_call(self, *words, &block)
  end
end
# A file that sets the seed, or takes a number, changes the numbers that the program gets.
[[Kernel, %i[rand srand]], [Kernel.singleton_class, %i[rand srand]], [Random.singleton_class, %i[rand srand bytes random_number]],
 [Array, %i[shuffle shuffle! sample]], [Process.singleton_class, %i[setproctitle]]].each do |place, methods|
  methods.each do |name|
    plain = place.instance_method(name)
    place.define_method(name) do |*words, **named, &block|
      tell.("does state")
      plain.bind_call(self, *words, **named, &block)
    end
  end
end
# Notes a file that asks for its callers and finds this file among them.
[Kernel, Kernel.singleton_class].product(%i[caller caller_locations]).each do |place, name|
  plain = place.instance_method(name)
  place.define_method(name) do |start = 1, *size|
    from = start.is_a?(Range) ? (start.begin + 2)..(start.end && start.end + (start.end.negative? ? 0 : 2)) : start + 2
    found = plain.bind_call(self, from, *size)
    tell.("does caller") if found&.any? { |each| each.to_s.start_with?(__FILE__) }
    found
  end
end
[[Thread, :backtrace], [Thread, :backtrace_locations], [Exception, :backtrace], [Exception, :backtrace_locations]].each do |place, name|
  plain = place.instance_method(name)
  place.define_method(name) do |*words|
    found = plain.bind_call(self, *words)
    next found if raises_again && caller_locations(1, 1)&.first&.path == raises_again

    tell.("does caller") if found&.any? { |each| each.to_s.start_with?(__FILE__) }
    found
  end
end
ARGF.class.public_instance_methods(false).each do |name|
  plain = ARGF.class.instance_method(name)
  ARGF.define_singleton_method(name) do |*words, **named, &block|
    tell.("does arguments")
    plain.bind_call(self, *words, **named, &block)
  end
end
# Ruby handles some signals from its start on, so the C library is not asked.
[Kernel, Kernel.singleton_class, Signal.singleton_class].each do |place|
  plain = place.instance_method(:trap)
  place.define_method(:trap) do |*words, &block|
    tell.("does signals")
    plain.bind_call(self, *words, &block)
  end
end
# These methods call getenv(3), or the trace finds their change by comparing the variables. All others read
# every variable.
of_one = %i[[] []= assoc delete fetch has_key? include? key? member? store values_at slice freeze]
(ENV.singleton_methods(false) - of_one).each do |name|
  plain = ENV.method(name).unbind
  ENV.define_singleton_method(name) do |*words, &block|
    tell.("reads *")
    plain.bind_call(self, *words, &block)
  end
end

# By the name that a program would use: for that, RubyGems may activate a gem.
folders_of_gems = -> { defined?(Gem::Specification) ? Gem::Specification.stubs_for_pattern("*.gemspec", false).flat_map(&:full_require_paths) : [] }
load_file = lambda do |path|
  folder = [*$LOAD_PATH.map(&:to_s), *folders_of_gems.()].find { |each| path.start_with?("#{each}/") } unless is_older.(path)
  require(folder ? path.delete_prefix("#{folder}/") : path)
end
# What RubyGems does for a program that it starts, and what a profile says that this program requires first.
start_gem = lambda do |gem, executable|
  Gem.activate_bin_path(gem, executable, ">= 0.a")
  next if gem != known_gem

  version = Gem.loaded_specs[gem].version.to_s
  is_known = known_versions.include?(version)
  tell.("#{is_known ? 'vouched' : 'unknown'} #{gem}\t#{version}")
  known_gem = nil
  required.each { |name| require name } if is_known
end
names.each do |name|
  next if $LOADED_FEATURES.include?(name)

  is_start = name.start_with?("gem:")
  begin_file.(name) # with what RubyGems does to find it: it may evaluate a specification
  begin
    is_start ? start_gem.(*name.split(":").drop(1)) : load_file.(name)
    is_done = true
  rescue Exception
    is_done = false # The trace has it.
  end
  end_file.(!is_done)
end
tell.("unknown #{known_gem}\t-") if known_gem
tell.("done")
