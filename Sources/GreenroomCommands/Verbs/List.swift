import ArgumentParser
import Glibc
import GreenroomControl

struct List: Verb {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the installed apps.")

    @Flag(
        name: .shortAndLong,
        help: "Show also apps that are not installed because they were refused or masked.")
    var all = false

    @Flag(help: "Show only apps that belong in menus by their desktop entry, and their actions.")
    var desktop = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(all ? .listAll : .list)
        guard case .listed(let installed) = reply else { return 1 }
        let apps = installed.filter {
            desktop ? $0.desktop?.isShown == true : $0.desktop == nil || $0.manifestFile != nil
        }
        let appearance = display.appearance(on: console)
        if output.json {
            console.write(Report.json(desktop ? ControlReply.listed(apps) : reply))
        } else if desktop {
            console.write(Report.desktopApps(apps, appearance))
        } else {
            let ofOthers = getuid() != 0 && client.serverUser != getuid()
            // Only a list without apps names the folder.
            let folder = apps.isEmpty ? try? client.describe().get().appDirectories.first : nil
            console.write(
                Report.apps(
                    apps, ofSystem: client.systemsApps(besides: apps), appearance,
                    ofOthers: ofOthers && installed.isEmpty, folder: folder,
                    desktopCount: installed.count { $0.desktop?.isShown == true }))
        }
        return 0
    }
}
