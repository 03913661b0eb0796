import Glibc
import GreenroomSpawner

/// The parent of every app.
@main struct Program {
    static func main() {
        if CommandLine.arguments.dropFirst() == ["--version"] {
            return say("greenroom-spawner \(SpawnerOptions.version)\n", to: STDOUT_FILENO)
        }
        do {
            let options = try SpawnerOptions.parse(
                Array(CommandLine.arguments.dropFirst()), isRoot: geteuid() == 0,
                environment: { name in
                    unsafe getenv(name).map { unsafe String(cString: $0) }
                })
            if options?.isHolder == true { try Holder.run() }
            guard let options else { return say(SpawnerOptions.usage, to: STDOUT_FILENO) }
            try Spawner(options).run()
        } catch let error as SpawnerOptions.UsageError {
            say("greenroom-spawner: \(error.message)\n\(SpawnerOptions.usage)", to: STDERR_FILENO)
            exit(64)
        } catch {
            say("greenroom-spawner: \(error)\n", to: STDERR_FILENO)
            exit(1)
        }
    }

    private static func say(_ text: String, to descriptor: CInt) {
        var text = text
        text.withUTF8 { _ = unsafe write(descriptor, $0.baseAddress, $0.count) }
    }
}
