# Pauses Ruby between its start and its program, for Greenroom.
#
# The daemon runs `ruby [OPTIONS] -r THIS_FILE PLACEHOLDER`. Ruby opens the placeholder as its program,
# reads its first line, and requires this file. This file requires what GREENROOM_IMPORTS lists. After
# all files of -r, Ruby sets the encoding of the opened program. There this file waits for a launch, and puts
# the launch's program in place of the placeholder. Ruby then runs it by itself. If the program could notice a
# difference from a direct call, Ruby is executed anew with the launch's words in the same process.
#
# There are only local variables and lambdas here: the program must find no constant and no method of this
# file.
lambda do
  # Why Ruby starts anew (enum gr_anew_reason in CPrewarm/wire.h).
  other_options, other_program, hidden, changed, other_variables, failed = 1, 2, 3, 4, 5, 7
  record_limit = 65_536 # in bytes; the daemon reads no longer record
  # The variables that Ruby, RubyGems and Bundler read at their start.
  variables = "RUBY* GEM* BUNDLE* LANG LANGUAGE LC_* HOME XDG_* LD_* DEBIAN_RUBY_STANDALONE DEBIAN_DISABLE_RUBYGEMS_INTEGRATION"

  require File.expand_path("../libgreenroom-runtime.so", __dir__)
  runtime = Object.send(:remove_const, :GreenroomRuntime)
  imports, record = runtime.take("GREENROOM_IMPORTS"), runtime.take("GREENROOM_RECORD")

  # A process that was not prepared as the daemon prepares it must not run anything.
  give_up = lambda do |message|
    warn "greenroom: #{message}"
    exit! 72
  end
  options = File.binread("/proc/self/cmdline").split("\0")[1..].take_while { |word| word != "-r" }
  placeholder = $0.dup
  program = ObjectSpace.each_object(File).find { |file| !file.closed? && file.path == placeholder }
  give_up.("the program is not a file") unless program
  names = ObjectSpace.each_object(String).select { |text| text == placeholder && !text.equal?(placeholder) }
  probe = ("a" * 1000).freeze
  runtime.rename(probe, placeholder)
  give_up.("this Ruby has other strings") unless probe == placeholder && probe.frozen?

  places = $LOAD_PATH.map(&:to_s)
  # __FILE__ is this file's name as Ruby was called with it, __dir__ has no symbolic link.
  folders_of_hooks = [File.dirname(__FILE__, 2), File.dirname(__dir__)].map { |path| "#{path}/" }
  forget_this_file = -> { $LOADED_FEATURES.delete_if { |path| path.start_with?(*folders_of_hooks) } }

  forget_this_file.() # what is loaded may look
  # An author of a list knows what follows; lines that were learned have stamps.
  is_learned = imports && imports.include?("\t")

  # By the name that a program would use: for that, RubyGems may activate a gem.
  # Not Gem::Specification.stubs, which the program would find done: it may install a gem first. A specification without
  # the line that describes it would be evaluated, and say what is wrong with it.
  stubs_of_gems = lambda do
    next [] unless defined?(Gem::Specification)

    paths = [*Gem::Specification.dirs, Gem.default_specifications_dir].flat_map { |folder| Dir["#{folder}/*.gemspec"] }
    bare = paths.find { |path| !File.binread(path, 4096)&.match?(/\A.*\n# stub: /) }
    raise "#{bare} would be evaluated" if bare
    stubs = Gem::Specification.stubs_for_pattern("*.gemspec", false)
    # Whoever looks for a file in such a gem is warned, once.
    bare = stubs.find(&:missing_extensions?)
    raise "the extensions of #{bare.full_name} are not built" if bare
    stubs
  end
  known_folders = nil
  folders_of_gems = -> { known_folders ||= stubs_of_gems.().flat_map(&:full_require_paths) }
  load_learned = lambda do |path|
    next false if $LOADED_FEATURES.include?(path)

    folder = [*$LOAD_PATH.map(&:to_s), *folders_of_gems.()].find { |each| path.start_with?("#{each}/") }
    require(folder ? path.delete_prefix("#{folder}/") : path)
    $LOADED_FEATURES.include?(path) || raise("a program would load another file")
  end
  # What RubyGems does for a program that it starts, before it loads the gem's own program.
  activate = ->(gem, executable) { Gem.activate_bin_path(gem, executable, ">= 0.a") }

  roots = [] # what none of the others has loaded
  started = nil # the gem and the executable, if RubyGems starts the program
  loaded_by = {} # after how many of these a file is loaded
  note_loaded = -> { $LOADED_FEATURES.each { |path| loaded_by[path] ||= roots.size } }
  note_loaded.()
  required = [] # what a profile says that this program requires first
  (imports || "").each_line(chomp: true) do |line|
    # The stamp is that of the file which was inspected; a list of the manifest's has none.
    name, stamp = line.split("\t")
    path = name.delete_prefix("=")
    if name.start_with?("^")
      required << name.delete_prefix("^")
    elsif path != name
      runtime.watch(path)
    elsif is_learned && name.start_with?("gem:")
      started = name.split(":").drop(1)
      activate.(*started)
      note_loaded.()
    elsif is_learned ? load_learned.(name) : require(name)
      roots << name
      note_loaded.()
    end
    give_up.("#{path} is another file than was inspected") if stamp && stamp != "-" && runtime.stamp(path) != stamp
  rescue Exception => error # Half-defined classes stay, so the process is of no use.
    give_up.("#{name}: #{error.message}")
  end
  line_number = $. # of what was read last, as the program would find it
  if started
    # The launch does this again. It must not activate a gem that would be left alone if it were done only once.
    state_of_gems = -> { [Gem.loaded_specs.keys, $LOAD_PATH.map(&:to_s)] }
    before = state_of_gems.()
    activate.(*started)
    give_up.("RubyGems would choose between gems anew") if state_of_gems.() != before
  end

  # What was loaded, and where a require would look first.
  watch_files = lambda do
    files = $LOADED_FEATURES.select { |path| path.start_with?("/") }
    folders = files.map { |path| File.dirname(path) } + $LOAD_PATH.map(&:to_s)
    folders += Gem::Specification.dirs + [Gem.default_specifications_dir] if defined?(Gem::Specification)
    # Another folder that is searched first may get a file of the same name, in a subfolder.
    searched = $LOAD_PATH.map(&:to_s)
    files.each do |path|
      index = searched.index { |folder| path.start_with?("#{folder}/") } or next
      name = File.dirname(path.delete_prefix("#{searched[index]}/"))
      folders += searched[0, index].map { |folder| "#{folder}/#{name}" } unless name == "."
    end
    (files + folders).uniq.each { |path| runtime.watch(path) }
  end

  # At its start, Ruby has checked whether the standard streams are terminals, to which it writes each line at
  # once.
  notice_terminals = lambda do
    [STDIN, STDOUT, STDERR].each_with_index do |stream, number|
      next unless stream.tty?

      terminal = IO.for_fd(number, number.zero? ? "r" : "w", autoclose: false)
      terminal.sync = stream.sync
      stream.reopen(terminal)
    end
  end

  year = imports && Time.now.utc.year

  # Ruby reads TZ again after a change of ENV.
  zone = ENV["TZ"]
  notice_time_zone = lambda do
    next if ENV["TZ"] == zone

    zone = ENV["TZ"]
    ENV["TZ"] = zone || ""
    ENV["TZ"] = zone
  end

  # Ruby has read the options in the first line of the placeholder, which has none.
  has_plain_first_line = lambda do |path|
    line = File.open(path, "rb") { |file| file.gets("\n", 4096) } || ""
    next false if line.start_with?("\xEF\xBB\xBF".b)
    next true unless line.start_with?("#!")

    rest = line[/ruby.*/m]
    rest && !rest.include?(" -") && !rest.include?("\r") && rest.end_with?("\n")
  end

  # The gems of which RubyGems has several versions, by name, the newest version first.
  gems_with_choice = lambda do
    stubs_of_gems.().group_by(&:name).transform_values { |stubs| stubs.sort_by(&:version).reverse }
                      .select { |_, stubs| stubs.map(&:version).uniq.size > 1 }
  end

  # Not contains_requirable_file?, which warns only once of an extension that is not built.
  has_file = lambda do |stub, file|
    stub.full_require_paths.product(Gem.suffixes).any? { |folder, ending| File.file?("#{folder}/#{file}#{ending}") }
  end

  # A list has paths, which activate no gem: a program would load the newest version.
  refuse_older = lambda do
    several = gems_with_choice.()
    next if several.empty?

    loaded = $LOADED_FEATURES.map { |path| path.sub(%r{/[^/]*\z}, "") }.uniq
    is_loaded = lambda do |stub|
      stub.full_require_paths.any? { |folder| loaded.any? { |each| "#{each}/".start_with?("#{folder}/") } }
    end
    # A file that is installed with the system is found without its gem, if there is no newer one.
    system_files = $LOADED_FEATURES.filter_map do |path|
      folder = places.select { |each| path.start_with?("#{each}/") }.max_by(&:size)
      [folder, path.delete_prefix("#{folder}/")] if folder
    end
    several.each do |name, (newest, *older)|
      is_hidden = older.any?(&is_loaded) || system_files.any? do |folder, file|
        !newest.full_require_paths.include?(folder) && has_file.(newest, file)
      end
      give_up.("there is a newer #{name}") if is_hidden
    end
  end
  begin
    refuse_older.() if is_learned
  rescue StandardError => error
    give_up.(error.message)
  end

  # How a program may name what is loaded.
  folders = places + (is_learned ? folders_of_gems.() : [])
  names_of = lambda do |path|
    folders.filter_map { |folder| path[folder.size + 1..].sub(/\.(?:rb|so)\z/, "") if path.start_with?("#{folder}/") }
  end
  loaded_names = {}
  (is_learned ? $LOADED_FEATURES : []).each do |path|
    names_of.(path).each { |each| loaded_names[each] = [loaded_names[each], loaded_by[path] || 0].compact.min }
  end
  names_of_roots = roots.map(&names_of)

  # What a program requires first, before anything of its own can make a difference: its first lines.
  first_requires = lambda do |path|
    # Such a block runs first, wherever it stands.
    next [] if File.binread(path).match?(/\bBEGIN\b(?:\s|\\\n)*\{/)

    lines = File.foreach(path, mode: "rb").lazy.reject { |line| line.match?(/\A\s*(?:#.*)?$/) }
    # A line that begins with a point (or, since Ruby 4, an operator of logic) continues the one before.
    next [] if lines.find { |line| !line.match?(/\Arequire\b/) }&.match?(/\A\s*(?:&?\.|&&|\|\||(?:and|or)\b)/)

    lines
        .map { |line| line[/\Arequire\s*\(?\s*(["'])([^"'#\\]+)\1\s*\)?\s*(?:#.*)?$/, 2] }.take_while(&:itself)
        .map { |name| name.sub(/\.(?:rb|so)\z/, "") }.to_a
  end

  # The program that RubyGems writes for an executable of a gem, without comments and indentation: it loads the gem's own
  # program, of the newest version.
  text_of_starter = lambda do |gem, executable, is_old|
    asks = is_old ? <<~OLD : <<~NEW
      if ARGV.first
      str = ARGV.first
      str = str.dup.force_encoding("BINARY") if str.respond_to? :force_encoding
      if str =~ /\\A_(.*)_\\z/ and Gem::Version.correct?($1) then
      version = $1
    OLD
      str = ARGV.first
      if str
      str = str.b[/\\A_(.*)_\\z/, 1]
      if str and Gem::Version.correct?(str)
      version = str
    NEW
    <<~TEXT
      require 'rubygems'
      version = ">= 0.a"
      #{asks.chomp}
      ARGV.shift
      end
      end
      if Gem.respond_to?(:activate_bin_path)
      load Gem.activate_bin_path('#{gem}', '#{executable}', version)
      else
      gem "#{gem}", version
      load Gem.bin_path("#{gem}", "#{executable}", version)
      end
    TEXT
  end

  # The gem and the executable, if the program is such a one and does nothing else: the argument _1.0_ asks for a version.
  started_by = lambda do |path, arguments|
    next false if !defined?(Gem) || defined?(Bundler) || ENV["RUBYGEMS_GEMDEPS"] || File.size(path) > 4096

    lines = File.readlines(path, chomp: true, mode: "rb").map(&:strip)
    lines.reject! { |line| line.empty? || line.start_with?("#") || line == "Gem.use_gemdeps" }
    text = lines.map { |line| "#{line}\n" }.join
    found = text.match(/^load Gem\.activate_bin_path\('([\w.-]+)', '([\w.-]+)', version\)$/)&.captures
    next false if found.nil? || found[0] == "bundler" || arguments.first&.b&.match?(/\A_.*_\z/m)

    [false, true].any? { |is_old| text == text_of_starter.(*found, is_old) } && found
  end
  program_of = ->(gem, executable) { Gem.loaded_specs[gem]&.bin_file(executable) }

  # Whether the program first requires what was learned.
  is_first = lambda do |path, arguments|
    next false if started_by.(path, arguments) != (started || false)

    left = names_of_roots.dup
    (required + first_requires.(started ? program_of.(*started) : path)).each do |name|
      if left.first&.include?(name)
        left.shift
      elsif !loaded_names[name] || loaded_names[name] > names_of_roots.size - left.size
        break
      end
    end
    left.empty?
  end

  record_imports = lambda do |name, arguments|
    owner, at_start = Process.pid, $LOADED_FEATURES.to_h { |path| [path, true] }
    starts = started_by.(name, arguments)
    first = first_requires.(name)
    at_exit do
      next unless Process.pid == owner

      first = program_of.(*starts)&.then(&first_requires) || next if starts
      folders_in_use = defined?(Gem) ? Gem.loaded_specs.values.flat_map(&:full_require_paths) : []
      # Bundler activates the gems of one Gemfile: they must not be there before it has chosen. A list has paths, which
      # activate nothing, so what they require is of the newest version.
      is_old = gems_with_choice.().any? { |gem, stubs| Gem.loaded_specs[gem] && Gem.loaded_specs[gem].version != stubs[0].version }
      loaded = $LOADED_FEATURES.to_h { |path| [path, true] }
      paths = first.map do |each|
        (places + folders_in_use).product(%w[.rb .so]).lazy.map { |folder, ending| "#{folder}/#{each}#{ending}" }.find { |path| loaded[path] }
      end
      paths = paths.take_while(&:itself).reject { |path| at_start[path] }
      paths.unshift("gem:#{starts.join(':')}") if starts
      paths = [] if defined?(Bundler) || is_old
      text = paths.map { |path| "#{path}\n" }.join
      # The daemon reads no more.
      text = text.byteslice(0, record_limit - 1)[/.*\n/m] || "" if text.bytesize >= record_limit
      runtime.send_to(record, text.empty? ? "\n" : text)
    rescue StandardError
      nil # The daemon learns nothing.
    end
  end

  become = lambda do |words|
    runtime.start_anew(other_options) unless words[1, options.size] == options
    name, *arguments = words.drop(1 + options.size)
    runtime.start_anew(other_program) if name.nil? || name.empty? || name.start_with?("-") || !File.file?(name)
    runtime.start_anew(other_program) unless has_plain_first_line.(name)
    runtime.start_anew(other_variables) unless runtime.variables_equal?(variables)
    runtime.start_anew(changed) unless runtime.unchanged?
    # Some files keep the year in which they were loaded.
    runtime.start_anew(changed) if imports && Time.now.utc.year != year
    runtime.start_anew(hidden) if is_learned && !is_first.(name, arguments)
    program.reopen(name, "r:#{program.external_encoding}")
    ARGV.replace(arguments.each(&:freeze))
    notice_terminals.()
    notice_time_zone.()
    names.each { |text| runtime.rename(text, name) }
    # Ruby reads the first line of a program apart if it begins so.
    $. = line_number.zero? && File.binread(name, 2) == "#!" ? 1 : line_number
    record_imports.(name, arguments) if record && !is_learned # what a program loads first does not change
  end

  program.define_singleton_method(:set_encoding) do |*encodings|
    singleton_class.send(:remove_method, :set_encoding)
    forget_this_file.()
    # After the change, the next require makes Ruby build its index of files anew.
    require $LOADED_FEATURES.last if imports && !$LOADED_FEATURES.empty?
    watch_files.()
    words = runtime.wait
    give_up.("nobody waits for this process") unless words
    begin
      become.(words)
    rescue Exception
      runtime.start_anew(failed)
    end
    runtime.go_on
    set_encoding(*encodings)
  end
end.call
