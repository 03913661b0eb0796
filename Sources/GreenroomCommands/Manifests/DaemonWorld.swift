import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux

extension World {
    /// As the daemon sees it that answers; else as one would that is started here.
    convenience init(of daemon: Control.Description?, user: UInt32?) {
        guard let daemon, !daemon.environment.isEmpty else {
            let variables = Caller.variables.merging(["PATH": Self.serviceSearchPath]) { $1 }
            self.init(environment: variables, desktopPaths: SearchPath.desktop(Caller.variables))
            return
        }
        self.init(
            environment: SearchPath.variables(of: daemon.environment), user: user ?? getuid(),
            desktopPaths: daemon.desktopDirectories)
    }

    /// What systemd gives services (systemd.exec(5), "Environment variables in spawned processes"), not
    /// what a shell has.
    private static let serviceSearchPath =
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}
