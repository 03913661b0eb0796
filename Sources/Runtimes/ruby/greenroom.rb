# Pauses Ruby between its start and its program, for Greenroom.
#
# The daemon runs `ruby [OPTIONS] -r THIS_FILE PLACEHOLDER`. Ruby opens the placeholder as its program,
# reads its first line, and requires this file. This file requires what GREENROOM_IMPORTS lists. After
# all files of -r, Ruby sets the encoding of the opened program. There it waits for a launch, and makes
# the program another file: what follows is Ruby's own. Where a launch could differ from a direct call,
# Ruby is executed anew with the launch's words in the same process.
#
# Local variables and lambdas only: the program must find no constant and no method of this file.
lambda do
  # Why Ruby starts anew (enum gr_anew_reason in CPrewarm/wire.h).
  other_options, other_program, hidden, changed, other_variables, failed = 1, 2, 3, 4, 5, 7
  record_limit = 65_536 # in bytes; the daemon reads no longer record
  # What Ruby, RubyGems and Bundler read at their start.
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
  (imports || "").each_line(chomp: true) do |line|
    # The stamp is that of the file which was inspected; a list of the manifest's has none.
    name, stamp = line.split("\t")
    require name
    give_up.("#{name} is another file than was inspected") if stamp && runtime.stamp(name) != stamp
  rescue Exception => error # Half-defined classes stay, so the process is of no use.
    give_up.("#{name}: #{error.message}")
  end

  # __FILE__ is this file's name as Ruby was called with it, __dir__ has no symbolic link.
  folders_of_hooks = [File.dirname(__FILE__, 2), File.dirname(__dir__)].map { |path| "#{path}/" }
  forget_this_file = -> { $LOADED_FEATURES.delete_if { |path| path.start_with?(*folders_of_hooks) } }

  # What was loaded, and where a require would look first.
  watch_files = lambda do
    files = $LOADED_FEATURES.select { |path| path.start_with?("/") }
    folders = files.map { |path| File.dirname(path) } + $LOAD_PATH.map(&:to_s)
    folders += Gem::Specification.dirs + [Gem.default_specifications_dir] if defined?(Gem::Specification)
    (files + folders).uniq.each { |path| runtime.watch(path) }
  end

  # Ruby has noted whether the standard streams are terminals: it then writes each line at once.
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

  # Ruby has read the options in the first line of the placeholder, where there are none.
  has_plain_first_line = lambda do |path|
    line = File.open(path, "rb") { |file| file.gets("\n", 4096) } || ""
    next false if line.start_with?("\xEF\xBB\xBF".b)
    next true unless line.start_with?("#!")

    rest = line[/ruby.*/m]
    rest && !rest.include?(" -") && !rest.include?("\r") && rest.end_with?("\n")
  end

  # It chooses among the versions of what is loaded already, or looks elsewhere first. An author of a list knows that; lines
  # that were learned have stamps.
  is_learned = imports && imports.include?("\t")
  may_choose = lambda do |path, arguments|
    text = File.binread(path, 1 << 20) || ""
    text.match?(/LOAD_PATH|\$:|\$-I|bundler/i) || text.include?("activate_bin_path") && arguments.first&.match?(/\A_.*_\z/)
  end

  # Where RubyGems finds the files of the gems that are in use.
  folders_of_gems = -> { defined?(Gem) ? Gem.loaded_specs.values.flat_map(&:full_require_paths) : [] }

  # In the order in which the files began: $LOADED_FEATURES has the order in which they ended, and a
  # file that is required again in that order may miss what its requirer has prepared.
  record_imports = lambda do |name|
    order, owner = [], Process.pid
    TracePoint.new(:script_compiled) do |trace|
      order << trace.instruction_sequence.path unless trace.eval_script
    end.enable
    own = "#{File.dirname(File.realpath(name))}/"
    at_exit do
      next unless Process.pid == owner

      gems = folders_of_gems.()
      installed = (places + gems).map { |folder| "#{folder}/" }
      # Bundler activates the gems of one Gemfile: they must not be there before it has chosen. And where else the
      # program looks, the next launch may find what hides an installed file.
      wanted = defined?(Bundler) || !($LOAD_PATH.map(&:to_s) - places - gems).empty? ? [] : order.uniq
      loaded = $LOADED_FEATURES.to_h { |path| [path, true] }
      wanted = wanted.select { |path| loaded[path] && !path.start_with?(own) && path.start_with?(*installed) }
      text = wanted.map { |path| "#{path}\n" }.join
      runtime.send_to(record, text.empty? ? "\n" : text) if text.bytesize < record_limit
    rescue StandardError
      nil # The daemon hears nothing.
    end
  end

  become = lambda do |words|
    runtime.start_anew(other_options) unless words[1, options.size] == options
    name, *arguments = words.drop(1 + options.size)
    runtime.start_anew(other_program) if name.nil? || name.empty? || name.start_with?("-") || !File.file?(name)
    runtime.start_anew(other_program) unless has_plain_first_line.(name)
    runtime.start_anew(other_variables) unless runtime.variables_equal?(variables)
    runtime.start_anew(changed) unless runtime.unchanged?
    # Some keep the year of their import.
    runtime.start_anew(changed) if imports && Time.now.utc.year != year
    runtime.start_anew(hidden) if is_learned && may_choose.(name, arguments)
    program.reopen(name, "r:#{program.external_encoding}")
    ARGV.replace(arguments.each(&:freeze))
    notice_terminals.()
    notice_time_zone.()
    names.each { |text| runtime.rename(text, name) }
    record_imports.(name) if record
  end

  program.define_singleton_method(:set_encoding) do |*encodings|
    singleton_class.send(:remove_method, :set_encoding)
    forget_this_file.()
    # The change has Ruby make its index of files anew, at the next require.
    require $LOADED_FEATURES.last if imports && !$LOADED_FEATURES.empty?
    watch_files.()
    words = runtime.wait
    give_up.("nobody waits for this process") unless words
    begin
      become.(words)
    rescue Exception
      runtime.start_anew(failed)
    end
    runtime.resume
    set_encoding(*encodings)
  end
end.call
