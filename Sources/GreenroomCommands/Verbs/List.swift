import ArgumentParser
import Glibc
import GreenroomControl
import UnitFile

struct List: Verb {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the installed apps.")

    @Argument(help: "The apps, or patterns. Default: all.", completion: Candidates.apps)
    var apps: [String] = []

    @Flag(
        name: .shortAndLong,
        help: "Also show apps that are not installed because they were refused or masked.")
    var all = false

    @Flag(help: "Show only apps that belong in menus by their desktop entry, and their actions.")
    var desktop = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var display: DisplayOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ client: ControlClient, _ console: any Console) throws(Failure) -> Int32 {
        let reply = try client.call(all ? .listAll : .list)
        guard case .listed(let installed) = reply else { return 1 }
        if !apps.isEmpty { return show(installed, client, console) }
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

    /// Shows the apps that were named, including those of desktop entries.
    private func show(
        _ installed: [Control.AppSummary], _ client: ControlClient, _ console: any Console
    ) -> Int32 {
        let all = installed + client.systemsApps(besides: installed)
        let identifiers = all.map(\.identifier)
        var named: Set<String> = []
        var code: Int32 = 0
        for word in apps {
            // If several apps have a short name, all of them are shown.
            let meant =
                AppPattern.isPattern(word)
                ? identifiers.filter { AppPattern.matches(word, $0) }
                : AppNames.identifiers(meantBy: word, among: identifiers)
            named.formUnion(meant)
            guard meant.isEmpty, !AppPattern.isPattern(word) else { continue }
            let suggestion = Spelling.closest(to: word, among: identifiers)
            let failure = Failure.control(.noSuchApp(word, suggestion: suggestion))
            console.complain(failure.description)
            code = exitCode(of: failure)
        }
        func chosen(_ apps: some Sequence<Control.AppSummary>) -> [Control.AppSummary] {
            apps.filter {
                named.contains($0.identifier) && (!desktop || $0.desktop?.isShown == true)
            }
        }
        let (own, ofSystem) = (chosen(installed), chosen(all.dropFirst(installed.count)))
        let appearance = display.appearance(on: console)
        if output.json {
            console.write(Report.json(ControlReply.listed(own)))
        } else if own.isEmpty, ofSystem.isEmpty {
            if code == 0 { console.line("No app matches.") }
        } else if desktop {
            console.write(Report.desktopApps(own, appearance))
        } else {
            console.write(Report.apps(own, ofSystem: ofSystem, appearance))
        }
        return code
    }
}
