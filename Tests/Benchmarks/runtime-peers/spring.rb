# What Spring does: a server that has loaded what the program needs, and forks for each client, which sends its standard
# streams and its command. The child is then in a session of its own, and the client waits for it.
#
#     spring.rb SOCKET-DESCRIPTOR LIBRARY...
require 'socket'
require 'json'

server = UNIXServer.for_fd(Integer(ARGV.shift))
ARGV.each { |library| require library }
STDERR.write('r')
loop do
  client = server.accept
  streams = Array.new(3) { client.recv_io }
  command = JSON.parse(client.gets)
  child = fork do
    Process.setsid
    Signal.trap('INT', 'DEFAULT')
    [STDIN, STDOUT, STDERR].zip(streams) { |own, given| own.reopen(given) }
    streams.each(&:close)
    ENV.replace(command['env'])
    ARGV.replace(command['args'])
    $0 = command['script']
    srand
    load command['script']
  end
  streams.each(&:close)
  client.puts(child)
  client.close
  Process.detach(child)
end
